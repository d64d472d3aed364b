# SPDX-License-Identifier: MIT
"""Makes the PNG files of screenshots small: with a palette of 256 colours, they take about a third of the size."""
import collections
import struct
import zlib

COLOURS = 256
# The palette begins with this number of most frequent colours. Each later one is the colour farthest from the palette.
FREQUENT = 192


def chunks(data):
    place = 8
    while place < len(data):
        size, kind = struct.unpack_from(">I4s", data, place)
        yield kind, data[place + 8:place + 8 + size]
        place += 12 + size


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def predict(left, above, corner):
    """Paeth's predictor of the PNG specification."""
    distances = [abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)]
    return (left, above, corner)[distances.index(min(distances))]


def read(data):
    """Returns width, height and rows of pixels of an image as browsers make it: 8 bits, RGB, not interlaced."""
    width, height, *form = struct.unpack(">IIBBBBB", next(content for kind, content in chunks(data) if kind == b"IHDR"))
    assert form == [8, 2, 0, 0, 0], form
    size, rows, above = 3 * width, [], bytes(3 * width)
    raw = zlib.decompress(b"".join(content for kind, content in chunks(data) if kind == b"IDAT"))
    for start in range(0, len(raw), size + 1):
        row, method = bytearray(raw[start + 1:start + 1 + size]), raw[start]
        for i in range(size if method else 0):
            left, corner = (row[i - 3], above[i - 3]) if i >= 3 else (0, 0)
            row[i] = row[i] + (0, left, above[i], (left + above[i]) // 2, predict(left, above[i], corner))[method] & 255
        rows.append([bytes(row[i:i + 3]) for i in range(0, size, 3)])
        above = row
    return width, height, rows


def distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other))


def choose(counts):
    """Returns the palette, and {colour of the image: place of the nearest colour in the palette}."""
    palette = [colour for colour, _ in counts.most_common(FREQUENT)]
    near = {colour: min((distance(colour, other), place) for place, other in enumerate(palette)) for colour in counts}
    while len(palette) < min(COLOURS, len(counts)):
        palette.append(max(near, key=near.get))
        near = {colour: min(found, (distance(colour, palette[-1]), len(palette) - 1)) for colour, found in near.items()}
    return palette, {colour: place for colour, (_, place) in near.items()}


def reduce(data):
    width, height, rows = read(data)
    palette, places = choose(collections.Counter(pixel for row in rows for pixel in row))
    raw = b"".join(b"\0" + bytes(places[pixel] for pixel in row) for row in rows)
    return data[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + \
        chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
