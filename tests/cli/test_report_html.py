# SPDX-License-Identifier: MIT
"""Tests the report as a page: in a browser without a network, and without the script."""
import copy
import html.parser
import json
import re
import shutil

import browser
import pytest
from mpi_in_use import EMULATED
from support import BUILD, QMPI, SOURCE, clean_environment, run_command, run_mpi

PROGRAMS = BUILD / "tests" / "tools" / "programs"
REPORTS = SOURCE / "tests" / "cli" / "reports"
TOOL_PATH = str(BUILD / "tools")
RUNS = 6  # of this many runs, at least one shows the planted problem, even on a busy machine

needs_browser = pytest.mark.skipif(browser.MISSING is not None, reason=str(browser.MISSING))


def report(*arguments, cwd=None):
    return run_command([QMPI, "report", *arguments], clean_environment(), cwd=cwd, timeout=60)


pytestmark = pytest.mark.skipif("zlib" in report("--html", REPORTS / "heat.json").stderr, reason="built without zlib")


def make_page(path, *files, options=()):
    result = report("--html", "-o", path, *options, *files)
    assert (result.returncode, result.stderr) == (0, "")
    return path


def run_planted(folder, case, kind, program=PROGRAMS / "tools_planted"):
    """Runs a program, at most RUNS times, until its planted problem is the first finding of the profile. Returns the
    file of the profile."""
    for _ in range(RUNS):
        result = run_mpi(program, case, cwd=folder, tools="trace,format=own,sites=yes",
                         env={"QMPI_TOOL_PATH": TOOL_PATH})
        assert result.returncode == 0 and result.messages == []
        assert report("--path", "-o", folder / "out.json", folder / "qmpi-trace").returncode == 0
        findings = json.loads((folder / "out.json").read_text())["findings"]
        if findings and findings[0]["kind"] == kind:
            break
    else:
        # In an emulator, starting MPI may take so long that the first finding is about that.
        (pytest.skip if EMULATED else pytest.fail)(f"{case}: {findings}")
    return folder / "out.json"


@pytest.fixture(scope="module")
def waiting_rank(tmp_path_factory):
    return run_planted(tmp_path_factory.mktemp("waiting_rank"), "sender_recv", "late-sender")


@pytest.fixture(scope="module")
def imbalance(tmp_path_factory):
    return run_planted(tmp_path_factory.mktemp("imbalance"), "last_allreduce", "imbalance")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.start(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture
def page(chromium):
    """Yields a browser whose pages must not write to the console or use the network."""
    yield chromium
    assert chromium.messages() == []
    assert [url for url in chromium.requests() if not re.match("(file|data|blob|about):", url)] == []
    chromium.emulate()


def is_in_view(page, selector):
    return page.run("""const box = document.querySelector(arguments[0]).getBoundingClientRect();
        return box.height > 0 && box.top >= 0 && box.top < innerHeight && box.left >= 0 && box.left < innerWidth;""", selector)


def click(page, element):
    page.run("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


# ---- Without a browser ---------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Reads the tags of a page, and its text without styles and scripts."""

    def __init__(self, text):
        super().__init__()
        self.words, self.tags, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        if not self.open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def test_findings_and_efficiency_are_text(waiting_rank, tmp_path):
    document = json.loads(waiting_rank.read_text())
    text = Reader(make_page(tmp_path / "page.html", waiting_rank).read_text()).text
    for finding in document["findings"]:
        for part in ("summary", "meaning", "advice"):
            assert finding[part] in text
    assert "planted.c:" in text
    for name in ("parallel", "load_balance", "communication", "serialisation", "transfer"):
        assert name.replace("_", " ") in text
        assert f"{100 * document['efficiency'][name]:.1f} %" in text


def test_a_program_without_a_problem_has_no_finding_in_the_page(tmp_path):
    text = Reader(make_page(tmp_path / "page.html", REPORTS / "heat-faster.json").read_text()).text
    assert "No problems found." in text


def test_the_page_says_to_which_time_percentages_refer(waiting_rank, tmp_path):
    page = make_page(tmp_path / "page.html", waiting_rank).read_text()
    assert re.search(r"Most time first\. The percentage .* is a share of the elapsed time \([\d.]+ m?s\)\.", Reader(page).text)
    assert "plus the time of MPI_Init" not in page


def test_the_title_tells_runs_apart(tmp_path):
    page = make_page(tmp_path / "page.html", REPORTS / "heat.json").read_text()
    assert "<title>heat, 4 ranks, 2024-05-14T09:12:45Z</title>" in page


def test_the_format_follows_the_name_of_the_file(tmp_path):
    assert report("-o", tmp_path / "page.html", REPORTS / "heat.json").returncode == 0
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert report("--format=html", REPORTS / "heat.json").stdout == report("--html", REPORTS / "heat.json").stdout


def test_files_of_one_run_are_one_page_and_those_of_several_are_compared_or_refused(tmp_path):
    crashed = [REPORTS / f"crash.{rank}.json" for rank in range(3)]
    merged = Reader(make_page(tmp_path / "merged.html", *crashed).read_text())
    assert len([tag for tag, attributes in merged.tags if "data-name" in attributes]) == 1
    both = [REPORTS / "heat.json", REPORTS / "heat-faster.json"]
    refused = report("--html", *both)
    assert refused.returncode == 2 and refused.stdout == ""
    assert "2 runs" in refused.stderr and "--compare" in refused.stderr
    compared = Reader(make_page(tmp_path / "compared.html", *both, REPORTS / "heat.json", options=["--compare"]).read_text())
    assert len([tag for tag, attributes in compared.tags if "data-name" in attributes]) == 3
    single = report("--html", "--compare", REPORTS / "heat.json")
    assert single.returncode == 2 and "two" in single.stderr


def test_a_page_cannot_be_limited_to_some_tables(tmp_path):
    refused = report("--html", "--files", REPORTS / "heat.json")
    assert refused.returncode == 2 and "all tables" in refused.stderr


def test_the_page_names_no_address_of_a_network():
    text = report("--html", REPORTS / "heat.json").stdout
    # the name of a namespace, which no browser requests
    assert set(re.findall(r"https?://[^\s\"'`)]+", text)) <= {"http://www.w3.org/2000/svg"}


# ---- In a browser --------------------------------------------------------------------------------


@needs_browser
def test_profile_itself_writes_a_page(page, tmp_path):
    result = run_mpi(PROGRAMS / "tools_planted", "sender_recv", cwd=tmp_path, tools="profile,output=out.html",
                     env={"QMPI_TOOL_PATH": TOOL_PATH})
    assert result.returncode == 0 and result.messages == []
    assert page.open(tmp_path / "out.html") is not None
    assert re.search(r"planted\.c:\d+", page.texts(".finding .what")[0])
    assert page.texts("#callsites tbody th")


@needs_browser
def test_a_finding_has_links_to_its_evidence(page, waiting_rank, tmp_path):
    finding = json.loads(waiting_rank.read_text())["findings"][0]
    page.open(make_page(tmp_path / "page.html", waiting_rank))
    links = {link.get_attribute("data-target"): link for link in page.find_all(".finding:first-child .link")}
    assert f"planted.c:{finding['line']}" in links["callsite"].text
    click(page, links["callsite"])
    row = f"#callsite-{finding['callsite']}"
    assert is_in_view(page, row) and f"planted.c:{finding['line']}" in page.find(row).text
    assert "target" in page.find(row).get_attribute("class")
    assert "sender_recv (planted.c:" in page.find(row + " + .detail").text  # the finding's row is unfolded
    click(page, links["waits"])
    assert is_in_view(page, "#waits") and "waits for" in page.find("#waits thead").text
    click(page, page.find(".finding:first-child [data-target='rank']"))
    assert is_in_view(page, f"#rank-{finding['rank']}")


@needs_browser
def test_call_sites_are_sorted_by_a_click_or_a_key(page, tmp_path):
    page.open(make_page(tmp_path / "page.html", REPORTS / "heat.json"))
    sites = json.loads((REPORTS / "heat.json").read_text())["callsites"]
    heading = page.find("#callsite thead th:nth-child(5) button")
    assert heading.text.strip().startswith("calls")
    table = (SOURCE / "tools/profile/result/figures.h").read_text()
    figures = re.findall(r'(?m)^ +F\(.*"(.+)", \d+\)', table)
    assert figures and not set(figures) - {text.strip() for text in page.texts("#callsite thead th")}

    def calls():
        return [int(re.sub(r"\D", "", text)) for text in page.texts("#callsite tbody td:nth-child(5)")]

    click(page, heading)
    assert calls() == sorted((site["calls"] for site in sites), reverse=True)
    assert page.find("#callsite thead th:nth-child(5)").get_attribute("aria-sort") == "descending"
    page.run("arguments[0].focus()", heading)
    page.press("\ue007")  # \ue007 is the key Enter
    assert calls() == sorted(site["calls"] for site in sites)
    assert page.find("#callsite thead th:nth-child(5)").get_attribute("aria-sort") == "ascending"


@needs_browser
def test_mpi_init_has_no_percentage_and_is_last(page, waiting_rank, tmp_path):
    page.open(make_page(tmp_path / "page.html", waiting_rank))
    for table, column in (("callsite", 4), ("function", 3)):
        head = page.find(f"#{table} thead th:nth-child({column})")
        assert head.text.strip().startswith("%") and head.get_attribute("aria-sort") == "descending"
        percents = page.texts(f"#{table} tbody td:nth-child({column})")
        assert percents[-1] == "–" and "–" not in percents[:-1]
        assert "MPI_Init" in page.texts(f"#{table} tbody tr")[-1]
        assert "before the elapsed time" in page.texts(f"#{table} tbody tr")[-1]
        assert re.search(r"%: share of the time of all ranks from MPI_Init to MPI_Finalize, [\d.]+ m?s", page.find(f"#{table}s .hint").text)
        # the first click sorts in ascending order
        click(page, page.find(f"#{table} thead th:nth-child({column}) button"))
        assert page.texts(f"#{table} tbody td:nth-child({column})")[-1] == "–"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Makes a result with 1,024 ranks and 500 call sites from a real one."""
    document = json.loads((REPORTS / "heat.json").read_text())
    return multiply(document, tmp_path_factory.mktemp("large") / "large.json")


def multiply(document, path, ranks=1024, sites=500):
    def some(values, count, by):
        return [copy.deepcopy(values[at % len(values)]) | by(at) for at in range(count)]

    def listed(at, count=32):
        rank = [(at + 31 * n) % ranks for n in range(count)]
        return {"rank": sorted(rank), "calls": [1000 + at] * count, "time": [0.9 / (7 + (at * n) % 97) for n in range(count)],
                "sent": [8000 + n * at for n in range(count)]}

    document["ranks"] = ranks
    document["processes"] = some(document["processes"], ranks, lambda at: {
        "rank": at, "host": f"node{at // 64}", "mpi": 1 + (at * 7919 % 1000) / 1013, "useful": 11 - (at * 7919 % 1000) / 1013})
    document["callsites"] = some(document["callsites"], sites, lambda at: {
        "by_rank": listed(at), "frames": [{"module": "/opt/heat/bin/heat", "offset": 4096 + 64 * at, "function": f"step_{at}",
                                           "file": f"/opt/heat/src/part{at % 17}.c", "line": 10 + at}]})
    for at, site in enumerate(document["callsites"]):
        count = 64 if at < 100 else 4
        site["waits"] = {"rank": [(at + n) % ranks for n in range(count)], "peer": [(at + n + 1) % ranks for n in range(count)],
                         "calls": [1 + n for n in range(count)], "time": [0.7 / (3 + (n * at) % 89) for n in range(count)]}
    document["matrix"] = [{"from": rank, "to": peer, "messages": 1000, "bytes": 8000 * (1 + peer % 13)} for rank in range(ranks)
                          for peer in sorted({(rank + step) % ranks for step in (-32, -1, 1, 32)})]
    document["windows"] = {"count": 200, "width": 0.064, "ranks": [
        {"rank": rank, "last": 0.03, "mpi": [(at * 7 + rank * 13) % 101 for at in range(200)]} for rank in range(ranks)]}
    path.write_text(json.dumps(document))
    return path


@needs_browser
def test_call_sites_are_filtered(page, large, tmp_path):
    page.open(make_page(tmp_path / "page.html", large))
    box = page.find("#callsites input")
    page.run("arguments[0].scrollIntoView({block: 'center'})", box)
    box.send_keys("part3.c:13 isend")
    places = page.texts("#callsite tbody th")
    assert places and all("part3.c:13" in place for place in places)
    assert set(page.texts("#callsite tbody td:nth-child(2)")) == {"MPI_Isend"}
    box.clear()
    box.send_keys("x\b")
    assert len(page.texts("#callsite tbody th")) == 20
    click(page, page.find("#callsites .more"))
    assert len(page.find_all("#callsite tbody tr")) == 500


def view(page):
    return [int(part) for part in page.find("#matrix canvas").get_attribute("data-view").split()]


@needs_browser
def test_the_matrix_is_zoomed_by_buttons_keys_wheel_and_box(page, large, tmp_path):
    page.open(make_page(tmp_path / "page.html", large))
    canvas = page.find("#matrix canvas")
    page.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
    assert view(page) == [0, 1024, 0, 1024]
    click(page, page.find("#matrix [aria-label='Zoom in']"))
    assert view(page)[1] - view(page)[0] == 512
    click(page, page.find("#matrix [aria-label='Zoom out']"))
    assert view(page) == [0, 1024, 0, 1024]
    page.actions().move_to_element_with_offset(canvas, -100, -100).click().perform()
    page.actions().scroll_from_origin(browser.wheel_over(canvas), 0, -200).perform()
    assert 0 < view(page)[1] - view(page)[0] < 1024
    page.actions().scroll_from_origin(browser.wheel_over(canvas), 0, 200).perform()
    assert view(page) == [0, 1024, 0, 1024]
    page.press("+", "0")
    assert view(page) == [0, 1024, 0, 1024]
    page.actions().move_to_element_with_offset(canvas, -100, -80).click_and_hold().move_by_offset(120, 60).release().perform()
    top, bottom, left, right = view(page)
    assert 0 < top < bottom < 1024 and 0 < left < right < 1024 and right - left > bottom - top
    page.press("0", "\ue011")  # Home
    page.press("+")
    assert view(page)[2] == 0 and view(page)[3] == 512


@needs_browser
def test_a_cursor_reads_the_matrix_by_keys(page, large, tmp_path):
    page.open(make_page(tmp_path / "page.html", large))
    page.run("document.querySelector('#matrix canvas').focus()")
    page.press("\ue011", "\ue015")  # Home, down
    assert page.find("#matrix output").text == "From rank 1 to rank 0: 7.81 KiB"
    page.press("\ue014")  # right
    assert page.find("#matrix output").text == "From rank 1 to rank 1: nothing"
    page.press("\ue014")
    assert page.find("#matrix output").text == "From rank 1 to rank 2: 23.4 KiB"


@needs_browser
def test_the_time_in_mpi_is_shown_by_rank_and_window(page, waiting_rank, tmp_path):
    page.open(make_page(tmp_path / "page.html", waiting_rank))
    windows = json.loads(waiting_rank.read_text())["windows"]
    page.run("document.querySelector('#windows canvas').focus()")
    page.press("\ue011", "\ue015", "\ue014")  # Home, down, right: the second window of rank 1
    percent = next(rank for rank in windows["ranks"] if rank["rank"] == 1)["mpi"][1]
    assert re.match(rf"Rank 1, .* to .*: {percent:g} % in MPI$", page.find("#windows output").text)
    click(page, page.find("#windows summary"))
    assert f"{100 * windows['parallel_efficiency'][1]:.1f} %" in page.texts("#windows tbody tr")[1]


@pytest.fixture
def ended(tmp_path):
    """Makes the page of a result of four ranks. One rank ends after 120 windows, one is not profiled in
    some windows, and in other windows hardly any rank works: at most 0.5 % of the time is outside MPI."""
    document = json.loads((REPORTS / "heat.json").read_text())
    document["processes"][1].update({"application": 7.5, "mpi": 1.5, "useful": 6})
    ranks = document["windows"]["ranks"]
    for rank in ranks:
        rank["mpi"][50:60] = [100] * 10
    ranks[0]["mpi"][50:60] = [99.5] * 10
    ranks[1]["mpi"] = ranks[1]["mpi"][:120]
    ranks[2]["profiled"] = [0 if at in range(30, 40) else 100 for at, _ in enumerate(ranks[2]["mpi"])]
    (tmp_path / "ended.json").write_text(json.dumps(document))
    return make_page(tmp_path / "ended.html", tmp_path / "ended.json")


@needs_browser
def test_a_rank_that_has_ended_is_marked(page, ended):
    page.open(ended)
    assert page.texts("#windows .legend")[0].split("100 %")[1].split("\n") == ["", "ended: the rank called MPI_Finalize", "not profiled"]
    page.run("document.querySelector('#windows canvas').focus()")
    page.press("\ue015", "\ue010")  # down, End
    assert page.find("#windows output").text.endswith(": the rank had ended")
    page.press("\ue015", "\ue011", *["\ue014"] * 30)  # down, Home, right
    assert page.find("#windows output").text.endswith(": not profiled")
    shares = page.texts("#rank tbody td:nth-child(4)")
    assert [" ".join(text.split()) for text in page.texts("#ranks .rank-bars tbody tr")] == [
        f"rank {rank} {share} in MPI" for rank, share in enumerate(shares)]
    ends = page.run("return [...document.querySelectorAll('.rank-bar')].map((bar) => bar.querySelectorAll('.ended').length)")
    assert ends == [0, 1, 0, 0] and "had ended" in page.find("#ranks .legend").text


@needs_browser
def test_the_line_of_load_balance_has_a_gap_while_nobody_works(page, ended):
    page.open(ended)
    assert page.texts("#windows .tick") == ["100 %", "50 %", "0 %"]
    pieces = [page.find(f"#windows .chart .line-{line}").get_attribute("d").count("M") for line in range(2)]
    assert pieces == [1, 2] and "Load balance has a gap" in page.find("#windows").text
    click(page, page.find("#windows summary"))
    click(page, page.find("#windows .more"))
    for column in (2, 3):
        shown = page.texts(f"#windows tbody tr:nth-child(55) td:nth-child({column})")
        assert len(shown) == 1 and shown != ["–"]


@needs_browser
@pytest.mark.parametrize("width, verb", [(400, "Tap"), (1280, "Point at")])
def test_a_map_shows_no_value_until_a_cell_is_chosen(page, large, tmp_path, width, verb):
    page.open(make_page(tmp_path / "page.html", large), width=width)
    for section in ("matrix", "windows"):
        assert page.find(f"#{section} output").text == f"{verb} a cell to read its value."
    assert page.find("#ranks output").text == f"{verb} a rank to see its times."
    assert ("Drag" in page.find("#matrix .buttons").text) == (width > 400)
    click(page, page.find("#matrix canvas"))
    assert page.find("#matrix output").text.startswith("From rank ")


@needs_browser
def test_counts_in_findings_look_as_in_tables(page, tmp_path):
    page.open(make_page(tmp_path / "page.html", REPORTS / "heat.json"))
    page.run("""document.querySelector('.meaning').textContent = '14538 calls at part.c:12345, 200 messages';
        linkFindings(document.querySelector('article.run'), { findings: [] })""")
    assert page.texts(".meaning")[0] == "14\u202f538 calls at part.c:12345, 200 messages"


def test_the_title_is_the_command_line(tmp_path):
    document = json.loads((REPORTS / "heat.json").read_text())
    document["program"], document["command"] = "/usr/bin/python3.11", "/usr/bin/python3 model.py --name='a b' 100"
    (tmp_path / "run.json").write_text(json.dumps(document))
    page = make_page(tmp_path / "page.html", tmp_path / "run.json").read_text()
    title = page[page.index("<h1>") + 4:page.index("</h1>")]
    assert html.unescape(title) == "python3 model.py --name='a b' 100"
    assert f"command  {document['command']}\n" in report(tmp_path / "run.json").stdout


LONG = ("heat::Solver<heat::Grid<double, std::allocator<double> >, heat::Boundary<heat::Periodic> >::exchange"
        "(std::vector<double, std::allocator<double> > const&)")
SHORT = "heat::Solver<...>::exchange(std::vector<...> const&)"


@pytest.fixture
def templates(tmp_path):
    """Makes the result of a program in C++ with a long name of a function."""
    document = json.loads((REPORTS / "heat.json").read_text())
    document["callsites"][0]["frames"][0].update({"function": LONG, "file": "/src/heat.cpp", "line": 12})
    (tmp_path / "templates.json").write_text(json.dumps(document))
    return tmp_path / "templates.json"


def test_arguments_of_templates_are_left_out_in_text_only(templates):
    assert f"    from {SHORT} (heat.cpp:12)\n" in report(templates).stdout
    assert LONG in report("--format=json", templates).stdout and LONG in report("--format=csv", templates).stdout


@needs_browser
def test_the_whole_name_of_a_function_is_shown_if_the_mouse_points_at_the_frame(page, templates, tmp_path):
    page.open(make_page(tmp_path / "page.html", templates))
    page.run("document.querySelectorAll('#callsites tbody button').forEach((it) => it.click())")
    frames = page.find_all(".frames li")
    found, = (frame for frame in frames if frame.get_attribute("title") == LONG)
    assert found.get_attribute("textContent").startswith(f"{SHORT} (heat.cpp:12)")


@needs_browser
def test_runs_are_compared_side_by_side(page, waiting_rank, imbalance, tmp_path):
    page.open(make_page(tmp_path / "page.html", waiting_rank, imbalance, options=["--compare"]))
    assert [text.split(" ", 1)[0] for text in page.texts(".run-name")] == ["A", "B"]
    first, second = (article.text for article in page.find_all("article.run"))
    assert " waits " in first and "Rank 1 is last in MPI_Allreduce at planted.c:" in second
    rows = dict(row.split(" ", 1) for row in page.texts("#compare-functions tbody tr"))
    assert rows["MPI_Recv"].split()[-1] == "–" and "gone" in rows["MPI_Recv"]
    assert "new" in rows["MPI_Allreduce"]
    assert re.search(r"parallel efficiency .* points", page.find("#totals").text)
    assert any("rank 1 for 0" in text for text in page.texts("#compare-waits tbody th"))
    assert any("planted.c:" in text and "gone" in text for text in page.texts("#compare-findings tbody tr"))
    assert page.texts("#comparison p.note")[0].startswith("B ")
    assert page.texts("#compare-functions td.better, #compare-functions td.worse")
    moods = page.texts("#changes td.better, #changes td.worse")
    assert all(text[0] in "+−" or text in ("new", "gone", "–") for text in moods), moods
    assert not [text for text in page.texts("#totals tbody tr") if set(text.split()[-3:]) == {"–"}]
    click(page, page.find("article.run:nth-child(2) [data-target='callsite']"))  # this shows the other run's call sites
    assert page.find(".choice select").get_attribute("value") == "1"
    assert "MPI_Allreduce" in page.find("tr.target").text


@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_colours_follow_the_preference_of_the_user(page, tmp_path, dark):
    page.open(make_page(tmp_path / "page.html", REPORTS / "heat.json"), dark=dark)

    def lightness(selector, name):
        parts = re.findall(r"\d+", page.run("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]",
                                            selector, name))
        return sum(map(int, parts[:3]))

    assert (lightness("body", "backgroundColor") < 200) == dark
    assert (lightness("body", "color") > 500) == dark
    assert (lightness(".finding", "backgroundColor") < 250) == dark


@needs_browser
def test_a_narrow_page_does_not_scroll_sideways(page, waiting_rank, large, tmp_path):
    heat = REPORTS / "heat.json"
    for number, files in enumerate(([waiting_rank], [large], [heat, REPORTS / "heat-faster.json", heat, heat, heat])):
        path = make_page(tmp_path / f"{number}.html", *files, options=["--compare"] if len(files) > 1 else [])
        for width in (400, 1280):
            page.open(path, width=width)
            page.run("document.querySelectorAll('.unfold').forEach((one) => one.click())")
            assert page.run("return document.documentElement.scrollWidth") <= width
            assert page.run("""return [...document.querySelectorAll("#details > .panels > section > .table > .scroll")]
                .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.querySelector("table").id)""") == []


@needs_browser
def test_a_narrow_page_is_short_and_lacks_nothing(page, waiting_rank, tmp_path):
    path = make_page(tmp_path / "page.html", waiting_rank)
    page.open(path, width=1280)
    shown = "return [...document.querySelectorAll(arguments[0])].map((one) => one.checkVisibility())"
    tables = "#functions table, #nodes table, #communicators table"
    assert page.run(shown, tables) == [True] * 3
    page.open(path, width=400)
    assert page.run(shown, tables) == [False] * 3
    assert page.run("const list = document.querySelector('nav ul'); return list.scrollWidth <= list.clientWidth")
    # the mean time of a call
    assert re.search(r"^× [\d.]+ [mun]?s$", page.find("#callsite tbody td:nth-child(5) .narrow-only").text)
    click(page, page.find("nav [href='#nodes']"))
    assert page.run(shown, tables) == [False, True, False]


@needs_browser
def test_the_findings_are_shown_without_a_script(page, waiting_rank, tmp_path):
    document = json.loads(waiting_rank.read_text())
    page.open(make_page(tmp_path / "page.html", waiting_rank), script=False)
    text = page.text_only()
    assert document["findings"][0]["summary"] in text and document["findings"][0]["advice"] in text
    assert "load balance" in text and "JavaScript" in text


@needs_browser
def test_every_saved_file_becomes_a_page(page, tmp_path):
    """Tests also results of processes that ended early, and results without optional members."""
    old = json.loads((REPORTS / "heat.json").read_text())
    for name in ("findings", "efficiency", "windows"):
        old.pop(name, None)
    for part in (*old["functions"], *old["callsites"], *old["processes"]):
        for name in ("by_rank", "waits", "useful", "ranks"):
            if name != "ranks" or part in old["functions"]:
                part.pop(name, None)
    (tmp_path / "old.json").write_text(json.dumps(old))
    for file in (*sorted(REPORTS.glob("*.json")), tmp_path / "old.json"):
        assert page.open(make_page(tmp_path / "page.html", file)) is not None, file
        page.run("document.querySelectorAll('.unfold').forEach((one) => one.click())")
        assert page.messages() == [], file
        assert "NaN" not in page.find("main").text and "undefined" not in page.find("main").text, file


def test_the_page_and_the_documents_know_every_kind_of_finding():
    result = SOURCE / "tools/profile/result"
    constants = re.findall(r"(?m)^    (FINDING_\w+),$", (result / "finding.h").read_text().split("FINDING_KINDS")[0])
    kinds = dict(re.findall(r'\[(FINDING_\w+)\] = \{"([a-z-]+)"', (result / "finder.c").read_text()))
    documented = re.findall(r"(?m)^\| `([a-z-]+)` \|", (SOURCE / "docs/run/profile.md").read_text()
                            .split("## Findings")[1].split("## Why a job hangs")[0])
    evidence = (result / "html/findings.js").read_text().split("const EVIDENCE = {")[1].split("\n}")[0]
    assert sorted(kinds) == sorted(constants) and len(kinds) > 10
    assert sorted(documented) == sorted(kinds.values())
    assert sorted(re.findall(r'(?m)^  "?([a-z-]+)"?:', evidence)) == sorted(kinds.values())


@needs_browser
def test_the_page_says_which_function_an_old_browser_lacks(page, tmp_path):
    path = make_page(tmp_path / "page.html", REPORTS / "heat.json")
    with page.without("DecompressionStream"):
        assert page.open(path, until="#problem:not([hidden])") is None
        assert "no DecompressionStream" in page.find("#problem").text
        assert "Rank 3 is last" in page.find(".finding").text


MARKUP = "</script><b>x</b><script>alert(1)</script>\"'&amp;<!--"


@needs_browser
def test_names_are_never_markup(page, tmp_path):
    """Tests the result of a program in a folder whose name contains markup, and a result with markup in
    every string."""
    folder = tmp_path / "a<" / "script><b>"
    folder.mkdir(parents=True)
    shutil.copy(PROGRAMS / "tools_planted", folder)
    file = run_planted(folder, "sender_recv", "late-sender", program=folder / "tools_planted")
    document = json.loads(file.read_text())

    def replace(value, name=None):
        if isinstance(value, dict):
            return {key: replace(part, key) for key, part in value.items()}
        if isinstance(value, list):
            return [replace(part, name) for part in value]
        return value if not isinstance(value, str) or name in ("schema", "begin", "members") else MARKUP + value

    document["files"] = json.loads((REPORTS / "heat.json").read_text())["files"]
    document["regions"] = json.loads((REPORTS / "heat.json").read_text())["regions"]
    (tmp_path / "odd.json").write_text(json.dumps(replace(document)))
    for name in (file, tmp_path / "odd.json"):
        page.open(make_page(tmp_path / f"{MARKUP.replace('/', '')}.html", name, name, options=["--compare"]))
        assert page.find_all("b") == [] and len(page.find_all("script")) == 4
        assert "</script><b>" in page.find("article").text
        for button in page.find_all("#details .unfold"):
            click(page, button)
        assert page.find_all("b") == [] and len(page.find_all("script")) == 4


@needs_browser
def test_a_page_of_1024_ranks_is_small_and_shows_limited_tables(page, large, tmp_path):
    path = make_page(tmp_path / "page.html", large)
    size, took = path.stat().st_size, page.open(path)
    print(f"{size} bytes, ready after {took} ms")
    assert size < 1_000_000
    assert len(page.find_all("#callsite tbody tr")) == 20 and len(page.find_all("#node tbody tr")) == 16
