"""The room as its people see it."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from programs import await_true

# In one step, as the page may draw the list anew at any time. Initials are before each name.
PEOPLE = """return [...document.querySelectorAll("#people li")].map((item) => item.innerText.split("\\n").at(-1))"""
MESSAGES = """
    return [...document.querySelectorAll("#messages li")].map((item) =>
        [item.querySelector("b").textContent, item.querySelector("span").textContent])
"""
# Places within the room, as fractions of its size.
POINTERS = """
    const layer = document.querySelector("#pointers").getBoundingClientRect();
    return [...document.querySelectorAll(".pointer")].map((item) => {
        const [x, y = "0"] = item.style.translate.split(" ");
        return [item.querySelector("b").textContent, parseFloat(x) / layer.width, parseFloat(y) / layer.height];
    });
"""


class RoomPage:
    """A page of the room; everything else is the page's."""

    def __init__(self, page):
        self._page = page

    def __getattr__(self, name):
        return getattr(self._page, name)

    def enter(self, demos, name, query=""):
        """Opens the room under a name; each browser is one person."""
        self.open(demos.url + "/room/" + query)
        self._driver.execute_script("localStorage.setItem('fanfare-user-name', arguments[0])", name)
        self.reload()
        self.await_live()
        await_true(lambda: f"{name} (you)" in self.people, "oneself in the room")

    @property
    def people(self):
        return self._driver.execute_script(PEOPLE)

    @property
    def messages(self):
        return [tuple(message) for message in self._driver.execute_script(MESSAGES)]

    @property
    def pointers(self):
        return {name: (x, y) for name, x, y in self._driver.execute_script(POINTERS)}

    def write(self, text):
        self._find("#text").send_keys(text)

    def say(self, text):
        self.write(text)
        self._find("#text").send_keys(Keys.ENTER)

    def point(self, x, y):
        """Moves the mouse to a place of the room, as fractions of its size."""
        room = self._find("#room")
        size = room.rect
        offset = (round((x - 0.5) * size["width"]), round((y - 0.5) * size["height"]))
        ActionChains(self._driver, duration=0).move_to_element_with_offset(room, *offset).perform()
