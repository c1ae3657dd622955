"""Running rules over a model, entry by entry, and again after an edit. Begin with ``run`` and ``incremental``.

Terms, as in salsa:

dependency
    A read outside an entry (:class:`~derivlint.model.memos.Dependency`): the values under a key of an index, the whole
    entries under a key, or a fact of the file. An index (:mod:`derivlint.model.index`) maps names to entries, such as
    all overloads of an operator. A fact is plain data that is computed from such reads.
trace
    The dependencies of a result, each with its answer. Answers are plain data: values, texts of entries, a fact.
memo
    A result with its trace. It is valid in any text in which all dependencies have the same answers.
revision
    The number of a checked text. ``EntryMemos.verified_at`` is the last one in which the memo is known to be valid.

The findings in an entry are a pure function of its text, its occurrence among entries with the same text, the settings,
the operators, and its dependencies. :class:`~derivlint.model.memos.Memos` has the memos of one file: of entries by text
and occurrence, of facts by dependency, and of file-wide rules. It shares nothing with models; the editor keeps it in
memory (``lsp.session``), the command on disk (``project.caching.memos_on_disk``).

An example: the file has ``abs``, ``neg`` and ``sgn``, and a letter is added to the formula of ``neg``.

1. ``yaml_reader.split`` splits the text into its items. Those of ``abs`` and ``sgn`` are known and not read again.
   Items that are not YAML are left out; the entries around them are unaffected.
2. The model begins a revision (``Model._carry_over``): the old ``neg`` was removed and a new one added. Answers under
   their index keys may have changed; all other answers are carried over. Facts with valid traces are carried over, the
   others are recomputed on demand.
3. ``incremental`` looks for a memo of each entry. ``abs`` reads the entry of ``sgn``, which is unchanged: its memo is
   valid, and the spans of its findings are moved. An entry whose formula calls ``neg`` has the old text of ``neg`` in
   its trace and is checked again. The new ``neg`` has no memo: the rules run while the model records their reads, and a
   memo with this trace is added.
4. Precedence is applied to all findings (``precedence``).
5. The revision ends (``Model.end_revision``): the model releases the memos, and long unused ones are dropped.

An undo needs no special case: the old text still has a valid memo. A check may be cancelled between two entries; the
results so far are in the memos. A check that crashed has no memo. After an error outside of rules the editor drops all
memos, so that the next check starts from scratch.
"""
