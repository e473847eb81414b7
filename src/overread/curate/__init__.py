"""Making new items: from pictures with captions and labels to a set that runs.

`overread curate collect | ask | distract | steps | filter | review | leakage | publish FOLDER`.
A folder is one set. Its `curate.toml` says what is wanted (`wanted.Wanted`); each step writes one
file of records (`records.Record`) and reads what passed the newest step before it (`folder`).

A step that asks models is pure: a generator that yields rounds of questions and is sent what was
said, in the order it asked. It sees no reader, store or network, so it can be tested with canned
replies, and a step that was killed is simply run again: `runs` puts the questions to the models
through the engine, and what was answered before comes from the folder's store.

    ROLES = ("writer",)                       # of [models] in curate.toml; they must be named there

    def explain(items: Sequence[Item], wanted: Wanted) -> Steps:
        (writer,) = wanted.seats("writer")
        heard = yield [
            Question(
                to=writer,
                item=item.id,
                about={"ask": "why"},         # tells it from the item's other questions
                messages=user(*item.pictures, f"Why is it {item.answers[0]}? One line."),
            )
            for item in items
        ]
        long = [one for one in heard if one.text is not None and "\\n" in one.text.strip()]
        mended = yield [one.question.again(one.text, "One line only.") for one in long]
        said = {one.question.item: one for one in (*heard, *mended)}   # the last word counts
        records = []
        for item in items:
            one = said[item.id]
            if one.text is None:              # refused, or no reply: it costs this item alone
                records.append(record(item, by=[one.by], verdict="dropped", reason=one.lack))
            else:
                step = Step("analysis", one.text.strip())
                better = msgspec.structs.replace(item, steps=(*item.steps, step))
                records.append(record(better, parents=[item], by=[one.by]))
        return records

What it may rely on: `heard` is parallel to the questions of its round; a round without questions
is answered with an empty list; a question that was asked before costs nothing; `Heard.text` is
None where there is nothing to read, and `Heard.lack` says why ("refused", "unanswered"). What it
owes: one record at least for every item it was given; nothing that a model says makes it raise, or
decides about another item; the same items and replies give the same questions and records (what is
drawn at random is drawn from `wanted.draw(item.id, "distract")`). A step is put on the command
line by a row of `steps.STEPS`.
"""
