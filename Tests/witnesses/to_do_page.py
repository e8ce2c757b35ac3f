"""The to-dos as their users see them."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from programs import await_true

FIRST = [
    "Return the library books", "Water the tomatoes", "Call Grandma", "Book the night train", "Learn to juggle",
]

NAMES = """
    return [...document.querySelectorAll("#rows:not([hidden]) li:not(.leaving) .name")].map((name) => name.textContent)
"""


class ToDoPage:
    """A page of the to-dos; everything else is the page's."""

    def __init__(self, page):
        self._page = page

    def __getattr__(self, name):
        return getattr(self._page, name)

    @property
    def titles(self):
        return self._driver.execute_script(NAMES)

    @property
    def state(self):
        return self.content("#state")

    def await_titles(self, *titles):
        await_true(lambda: self.titles == list(titles) or None, f"{titles}")

    def add(self, title, due=None):
        if due:
            self._driver.execute_script("document.getElementById('due').value = arguments[0]", due)
        self._find("#title").send_keys(title, Keys.ENTER)

    def tick(self, title):
        self.click_in_row(title, ".check")

    def open_editor(self, title):
        self.click_in_row(title, ".edit")

    def due(self, title):
        return self._row(title).find_element(By.CSS_SELECTOR, ".due").text

    def edit(self, title, new_title=None, due=None):
        self.open_editor(title)
        script = "document.getElementById(arguments[0]).value = arguments[1]"
        for box, text in (("edit-title", new_title), ("edit-due", due)):
            if text is not None:
                self._driver.execute_script(script, box, text)
        self.click("#editor button[value=save]")
