// Films to add to the list.

import { newRowID } from "/live-list.js";

const CATALOGUE = [
  ["Safety Last!", 1923], ["Sherlock Jr.", 1924], ["The General", 1926], ["Sunrise", 1927], ["M", 1931],
  ["King Kong", 1933], ["It Happened One Night", 1934], ["Modern Times", 1936], ["Stagecoach", 1939],
  ["Citizen Kane", 1941], ["Laura", 1944], ["Bicycle Thieves", 1948], ["The Third Man", 1949],
  ["Singin’ in the Rain", 1952], ["Tokyo Story", 1953], ["Seven Samurai", 1954], ["Pather Panchali", 1955],
  ["12 Angry Men", 1957], ["Some Like It Hot", 1959], ["La Dolce Vita", 1960], ["8½", 1963],
  ["Persona", 1966], ["Playtime", 1967], ["Stalker", 1979], ["Blade Runner", 1982], ["Amélie", 2001],
];

/** Returns `count` new rows, of films that are not in `rows` if possible. */
export function newFilms(rows, count) {
  const titles = new Set(rows.map(({ title }) => title));
  const others = CATALOGUE.filter(([title]) => !titles.has(title));
  const choice = shuffled(others.length >= count ? others : CATALOGUE).slice(0, count);
  return choice.map(([title, year]) => ({ id: newRowID(), title, year }));
}

/** Returns the values in a uniformly random order. */
export function shuffled(values) {
  const result = [...values];
  for (let last = result.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [result[last], result[other]] = [result[other], result[last]];
  }
  return result;
}
