# SPDX-License-Identifier: MIT
"""Opens pages in headless Chromium, as a user would open a file, and reads the resulting documents."""
import contextlib
import json
import shutil
import time

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
try:
    from selenium import webdriver
    MISSING = None if CHROMIUM and DRIVER else "Chromium or its driver is not installed"
except ImportError:
    MISSING = "python3-selenium is not installed"

# Root needs --no-sandbox. In a container, /dev/shm may be too small for the browser.
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--hide-scrollbars"]


@contextlib.contextmanager
def start(folder):
    """Starts a browser with a profile of its own in a folder."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in [*OPTIONS, f"--user-data-dir={folder}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.chrome.service.Service(DRIVER)
    driver = webdriver.Chrome(service=service, options=options)
    driver.set_page_load_timeout(60)
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class Browser:
    def __init__(self, driver):
        self.driver = driver
        self.send = driver.execute_cdp_cmd
        self.run = driver.execute_script

    def emulate(self, width=1280, height=900, dark=False, script=True):
        """Sets the size of the page and the preferences of the user."""
        self.send("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.send("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.send("Emulation.setScriptExecutionDisabled", {"value": not script})

    @contextlib.contextmanager
    def without(self, name):
        """Hides an object of the browser from the pages that are opened meanwhile."""
        script = self.send("Page.addScriptToEvaluateOnNewDocument", {"source": f"delete window.{name}"})
        try:
            yield
        finally:
            self.send("Page.removeScriptToEvaluateOnNewDocument", script)

    def open(self, path, until="[data-ready]", **settings):
        """Opens a file. Unless scripts are off, waits at most a minute until an element matches `until`. Returns the
        milliseconds that the page says it took, or None if the page does not say this or is not ready."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.emulate(**settings)
        self.driver.get(path.resolve().as_uri())
        end = time.monotonic() + 60
        while settings.get("script", True) and time.monotonic() < end:
            if self.run("return document.querySelector(arguments[0]) !== null", until):
                ready = self.run("return document.documentElement.dataset.ready")
                return None if ready is None else int(ready)
            time.sleep(0.02)
        return None

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def find_all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def texts(self, selector):
        return [found.text for found in self.find_all(selector)]

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def actions(self):
        return webdriver.ActionChains(self.driver)

    def text_only(self):
        """Returns the text of the page from the accessibility tree, which works without scripts, too."""
        nodes = self.send("Accessibility.getFullAXTree", {})["nodes"]
        return "\n".join(node["name"]["value"] for node in nodes
                         if node.get("role", {}).get("value") == "StaticText" and node.get("name", {}).get("value"))

    def messages(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Returns the addresses that the page has requested since it was opened."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


def wheel_over(element):
    return webdriver.common.actions.wheel_input.ScrollOrigin.from_element(element)
