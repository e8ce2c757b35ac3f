"""PNG images of pages, made small: 256 colours are enough for a page, and a third of the bytes."""

import struct
import zlib
from collections import Counter

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS_MAX = 256


def reduced(png):
    """The same picture with a palette; `png` is one of a browser: 8 bits a channel, not interlaced."""
    width, height, pixels = decoded(png)
    palette, index_of = quantized(Counter(pixels))
    rows = (bytes(index_of[pixel] for pixel in pixels[row * width : (row + 1) * width]) for row in range(height))
    # A palette's indices are no measures: the filters of PNG, which subtract neighbours, would only make them longer.
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", b"".join(bytes(colour) for colour in palette)), (b"IDAT", data), (b"IEND", b""))
    return SIGNATURE + b"".join(chunk(kind, content) for kind, content in chunks)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def decoded(png):
    """Width, height, and the pixels as tuples of red, green and blue, row by row."""
    assert png.startswith(SIGNATURE)
    offset, data = len(SIGNATURE), b""
    while offset < len(png):
        (length,) = struct.unpack_from(">I", png, offset)
        kind, content = png[offset + 4 : offset + 8], png[offset + 8 : offset + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", content)
            assert (depth, interlace) == (8, 0) and colour in (2, 6), "not a picture of a browser"
        elif kind == b"IDAT":
            data += content
        offset += length + 12
    size = 3 if colour == 2 else 4
    pixels, above = [], bytearray(width * size)
    data = zlib.decompress(data)
    for start in range(0, len(data), 1 + width * size):
        above = unfiltered(data[start], bytearray(data[start + 1 : start + 1 + width * size]), above, size)
        pixels += zip(above[0::size], above[1::size], above[2::size])
    return width, height, pixels


def unfiltered(kind, row, above, size):
    """A row without its filter, section 9 of the PNG specification."""
    if kind == 0:
        return row
    for index in range(len(row)):
        left = row[index - size] if index >= size else 0
        up, corner = above[index], above[index - size] if index >= size else 0
        if kind == 4:
            guess = left + up - corner
            added = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
        else:
            added = (0, left, up, (left + up) // 2)[kind]
        row[index] = (row[index] + added) & 255
    return row


def quantized(counts):
    """A palette by median cut, and the index in it of each colour."""
    boxes = [list(counts)]
    while len(boxes) < COLOURS_MAX and (box := max(boxes, key=lambda box: weight(box, counts))) and len(box) > 1:
        boxes.remove(box)
        channel = max(range(3), key=lambda channel: extent(box, channel))
        box.sort(key=lambda colour: colour[channel])
        boxes += [box[: len(box) // 2], box[len(box) // 2 :]]
    palette = [average(box, counts) for box in boxes]
    return palette, {colour: index for index, box in enumerate(boxes) for colour in box}


def extent(box, channel):
    values = [colour[channel] for colour in box]
    return max(values) - min(values)


def weight(box, counts):
    """How much a box may be wrong: a large area counts, but so does a colour that is rare and far from others."""
    if len(box) == 1:
        return 0
    return max(extent(box, channel) for channel in range(3)) * sum(counts[colour] for colour in box) ** 0.25


def average(box, counts):
    total = sum(counts[colour] for colour in box)
    return tuple(round(sum(colour[channel] * counts[colour] for colour in box) / total) for channel in range(3))
