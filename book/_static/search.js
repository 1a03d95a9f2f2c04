// What the search of Sphinx lacks: numbers, both spellings of a word, and first
// the chapter that explains a term.
(() => {
  "use strict";

  // @ts-expect-error: constants of Sphinx's scripts and of this page.
  const [search, chapters, also, split] = [Search, EXPLAINED, ALSO_CALLED, splitQuery];
  // @ts-expect-error: constants of Sphinx's language_data.js.
  const [stemmer, stop] = [new Stemmer(), stopwords];
  const { docnames, filenames, terms, titles, titleterms } = search._index;

  /** @param {string} word */
  const british = (word) => word.replace(/iz/g, "is").replace(/or$/, "our");
  /** @param {string} word */
  const american = (word) => word.replace(/is/g, "iz").replace(/our$/, "or");

  // From disk a page may not read those that it found.
  // @ts-expect-error: an option of Sphinx's scripts.
  const options = DOCUMENTATION_OPTIONS;
  if (location.protocol === "file:") options.SHOW_SEARCH_SUMMARY = false;

  // Else "constructor", which every object has, would be a word of the index.
  const bare = { hasOwnProperty: Object.prototype.hasOwnProperty, __proto__: null };
  for (const index of [terms, titleterms]) {
    Object.setPrototypeOf(index, bare);
    for (const [word, pages] of Object.entries(index)) {
      for (const twin of [british(word), american(word)]) {
        index[twin] = [...new Set([pages, index[twin] ?? []].flat())];
      }
    }
  }

  /* The stems of "normalisation" and "normalization" differ by more than a
     letter. And Sphinx drops words of digits. */
  const parse = search._parseQuery;
  search._parseQuery = (/** @type {string} */ query) => {
    const parsed = parse(query);
    parsed[1] = parse(query.replace(/is(?=(e|ed|es|ing|ations?)\b)/gi, "iz"))[1];
    for (const word of split(query)) {
      if (!/^\d+$/.test(word)) continue;
      parsed[1].add(word);
      parsed[3].add(word);
    }
    localStorage.setItem("sphinx_highlight_terms", [...parsed[3]].join(" "));
    return parsed;
  };

  /** @param {string} name @returns {string[]} */
  const stems = (name) =>
    split(name.toLowerCase())
      .filter((/** @type {string} */ word) => !stop.includes(word))
      .map((/** @type {string} */ word) => british(stemmer.stemWord(word)));

  /* Each term with its chapter, and what else it is called; each chapter with
     what its title calls it. */
  /** @param {Record<string, string>} all @param {number} whole @param {number} part */
  const named = (all, whole, part) =>
    Object.entries(all).map(([name, page]) => ({ name: stems(name), page, whole, part }));
  const names = [...named(chapters, 100, 100), ...named(also, 99, 60)];
  const pages = new Set([...Object.values(chapters), ...Object.values(also)]);
  for (const page of pages) {
    const title = titles[docnames.indexOf(page)];
    for (const named of title.split(":")[0].split(" and ")) {
      names.push({ name: stems(named), page, whole: 101, part: 99 });
    }
  }

  /**
   * How much of two names is common to both, from 0 to 1, if one has all of the other.
   * @param {string[]} asked
   * @param {string[]} name
   */
  function likeness(asked, name) {
    const shared = name.filter((word) =>
      asked.some((one) => word === one || (one.length > 2 && word.startsWith(one))),
    ).length;
    const whole = shared === name.length || shared === asked.length;
    return whole ? (2 * shared) / (name.length + asked.length) : 0;
  }

  const find = search.performTermsSearch;
  search.performTermsSearch = (
    /** @type {Set<string>} */ searched,
    /** @type {Set<string>} */ excluded,
  ) => {
    const results = find(searched, excluded);
    for (const found of results) if (pages.has(found[0])) found[4] += 1; // before the lists
    const asked = [...searched].map(british);
    for (const { name, page, whole, part } of names) {
      const alike = likeness(asked, name);
      const i = docnames.indexOf(page);
      // The glossary's own entry has 100 at most.
      const score = 100 + (alike === 1 ? whole : part * alike);
      if (alike) results.push([page, titles[i], "", null, score, filenames[i]]);
    }
    return results;
  };
})();
