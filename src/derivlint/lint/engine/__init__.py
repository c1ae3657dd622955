"""Running rules over a model, entry by entry, and again after an edit. Begin with ``run`` and ``incremental``.

Terms, as in salsa:

dependency
    Something that is read outside of an entry (:class:`~derivlint.model.memos.Dependency`): the values that an index
    has under a key, the whole entries under a key, or a fact of the file. An index (:mod:`derivlint.model.index`) finds
    entries by a name, such as all overloads of an operator. A fact is computed from such reads, and is plain data.
trace
    The dependencies of a result, each with its answer. Answers are plain data: values, the texts of entries, a fact.
memo
    A result with its trace. It holds in any text in which all dependencies have the same answers.
revision
    The number of a text in the order of checks. ``EntryMemos.verified_at`` is the last one that had the entry.

What rules find in an entry is a pure function of its text, its occurrence among entries with the same text, the
settings, the operators, and of what it reads elsewhere. :class:`~derivlint.model.memos.Memos` holds the memos of one
file: of entries by text and occurrence, of facts by dependency, and of the rules that look at the file as a whole. It
shares nothing with models; the editor keeps it in memory (``lsp.session``), the command on disk
(``project.caching.memos_on_disk``).

One edit. The file has ``abs``, ``neg`` and ``sgn``, and the formula of ``neg`` gets a letter more.

1. ``yaml_reader.split`` cuts the text into the texts of its items. Those of ``abs`` and ``sgn`` are known, so they are
   not read again. An item that is not YAML is left out, and the entries around it stay what they are.
2. The model begins a revision (``Model._carry_over``): the old ``neg`` is gone and a new one is there. The keys that
   indexes have of both may have other answers now; under all other keys answers are those of the last text. Facts whose
   traces hold are facts of this text, and the others are computed again when they are needed.
3. ``incremental`` looks for a memo of each entry. ``abs`` reads the entry of ``sgn``, whose text is the same: its memo
   holds, and its findings are moved to where it is now. If a formula reads ``neg``, its trace has the old text of that
   entry, and it is checked. For the new ``neg`` there is no memo; the rules run, while the model records what they
   read, and a memo with that trace is added.
4. Precedence is applied to all findings (``precedence``): one that follows from another is dropped.
5. The revision ends (``Model.end_revision``): the model lets go of the memos, and those that no text had for long go.

Taking the letter back needs nothing of its own: there is a memo for the old text, and its trace holds. A check may be
cancelled between two entries; what was found until then is in the memos. A check that crashed has no memo. After an
error outside of rules the editor drops all memos, so that the next check is one from scratch.
"""
