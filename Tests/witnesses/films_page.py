"""The films as their users see them."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from programs import await_true

# The scripts read everything at one instant; a row on its way out does not count.
TITLES = """
    return [...document.querySelectorAll("#rows:not([hidden]) li:not(.leaving) .title")].map((title) => title.value)
"""
ROW = """
    return [...document.querySelectorAll("#rows li:not(.leaving)")]
        .find((row) => row.querySelector(".title").value === arguments[0])
"""
BATCH = """
    return Object.fromEntries([...document.querySelectorAll("#batch div")]
        .map((line) => [line.dataset.kind, line.querySelector("dd").textContent]).filter(([, text]) => text !== "–"))
"""


class FilmsPage:
    """A page of the films; everything else is the page's."""

    def __init__(self, page):
        self._page = page

    def __getattr__(self, name):
        return getattr(self._page, name)

    @property
    def titles(self):
        return self._driver.execute_script(TITLES)

    @property
    def batch(self):
        """The indices of the last batch, by kind; kinds without any are left out."""
        return self._driver.execute_script(BATCH)

    @property
    def cell_count(self):
        return int(self.content("#cells"))

    def await_batch(self, **indices):
        await_true(lambda: self.batch == indices or None, f"the batch {indices}")

    def add(self, title):
        self._find("#title").send_keys(title, Keys.ENTER)

    def rename(self, title, other):
        field = self._row(title).find_element(By.CSS_SELECTOR, ".title")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(other, Keys.ENTER)

    def drag_down(self, title):
        self._row(title).find_element(By.CSS_SELECTOR, ".handle").send_keys(Keys.ARROW_DOWN)

    def remove(self, title):
        self._driver.execute_script("arguments[0].click()", self._row(title).find_element(By.CSS_SELECTOR, ".remove"))

    def _row(self, title):
        row = self._driver.execute_script(ROW, title)
        assert row, f"no film with the title {title}, but {self.titles}"
        return row
