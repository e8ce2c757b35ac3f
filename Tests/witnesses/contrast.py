"""Whether people with weak eyes can read a page: the contrast that WCAG 2.2 demands in 1.4.3."""

# The texts that are seen, and have less contrast with what is behind them.
FAINT_TEXTS = """
const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => [r, g, b].map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
const background = (element) => {
    for (let node = element; node; node = node.parentElement) {
        const color = rgb(getComputedStyle(node).backgroundColor);
        if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
};
const texts = [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility()
    && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
return texts.flatMap((element) => {
    const [one, other] = [light(rgb(getComputedStyle(element).color)), light(background(element))].toSorted((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    return contrast < 4.5 ? [`${element.outerHTML.slice(0, 120)}: ${contrast.toFixed(2)}`] : [];
});
"""


def faint_texts(page, hue=None):
    """Those of a page as it is, or as it is when everybody in it has the colour of that hue."""
    recolour = "document.querySelectorAll('[style*=\"--hue\"]').forEach((one) => one.style.setProperty('--hue', arguments[0]));"
    if hue is not None:
        page._driver.execute_script(recolour, hue)
    return page.run(FAINT_TEXTS)
