"""Trials handed to actors and taken back. No cluster: each actor is a desk in this process."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from overread.case import (
    BadInput,
    Limits,
    Message,
    Picture,
    Prompt,
    Reader,
    ReaderFailure,
    Reply,
    Request,
    Source,
    Trial,
)
from overread.engine import Sources, Store, Studio, Tally, ask, desk, on_ray
from overread.engine.crew import Wanted
from overread.engine.desk import LETTER, Desk
from overread.engine.on_ray import Cluster, Seated, _letters, check, shares
from overread.readers import Guard, open_reader
from support.installed import needs
from support.readers import Scripted, questions

pytestmark = needs("ray", "needs ray: it is not installed")

READERS: dict[str, Reader] = {}


def opened(environment: Mapping[str, str]) -> Reader:
    """What actors open: pickled by its name, so that all of them have one reader."""
    return READERS["reader"]


class Actor:
    """A desk that can die: whatever was under way fails, and a new one stands in its place."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.died = asyncio.Event()
        self.lives = 1

    def __getattr__(self, name: str) -> Method:
        return Method(self, name)

    async def call(self, name: str, *words: object) -> object:
        work = asyncio.ensure_future(getattr(self.desk, name)(*words))
        dying = asyncio.ensure_future(self.died.wait())
        await asyncio.wait((work, dying), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            dying.cancel()
            return work.result()
        work.cancel()
        from ray.exceptions import ActorDiedError

        raise ActorDiedError

    async def die(self) -> None:
        old, self.desk = self.desk, Desk()
        self.died.set()
        self.died = asyncio.Event()
        self.lives += 1
        for task in old._tasks:
            task.cancel()


class Method:
    """`actor.method`, of which Ray calls `remote`."""

    def __init__(self, actor: Actor, name: str) -> None:
        self._actor, self._name = actor, name

    def remote(self, *words: object) -> asyncio.Future[object]:
        return asyncio.ensure_future(self._actor.call(self._name, *words))


class Actors(Cluster):
    """A cluster whose actors are here."""

    def _begin(self) -> None:
        self.all: list[Actor] = []

    def _actor(self, seated: Seated) -> Actor:
        self.all.append(Actor())
        return self.all[-1]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as made:
        yield made


@pytest.fixture
def go(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Tally]]:
    """Ask a plan through actors; `meanwhile` runs beside it."""
    monkeypatch.setattr(desk, "_say_nothing", lambda: None)  # pytest's own output stays
    studio = Studio(Sources(store, 1))

    def asked(
        plan: Callable[[], Iterator[Trial]],
        reader: Reader,
        meanwhile: Callable[[Actors, asyncio.Event], Coroutine[Any, Any, None]] | None = None,
        actors: int = 2,
    ) -> Tally:
        READERS["reader"] = reader

        async def work() -> Tally:
            cluster = Actors([Seated("reader", opened)], actors=actors)
            stop = asyncio.Event()
            beside = meanwhile(cluster, stop) if meanwhile else asyncio.sleep(0)
            crew = cluster.crew("reader")
            tally, _ = await asyncio.gather(
                ask(plan, reader, store, studio, dataset=1, stop=stop, crew=crew), beside
            )
            return tally

        return asyncio.run(asyncio.wait_for(work(), 60))

    yield asked
    studio.close()


def test_every_trial_is_asked_once_by_one_of_the_actors(go, store) -> None:
    reader = Scripted()
    tally = go(questions(2000), reader)
    assert (tally.planned, tally.answered, tally.failed) == (2000, 2000, 0)
    assert set(reader.asked.values()) == {1}
    assert store.count() == 2000
    assert go(questions(2000), reader).settled == 2000
    assert set(reader.asked.values()) == {1}


def test_actors_together_ask_no_more_at_once_than_one_reader_may(go) -> None:
    reader = Scripted(delay=0.005, limits=Limits(concurrency=7, begin=7))
    go(questions(200), reader, actors=3)
    assert reader.most_at_once <= 7
    limits = Limits(concurrency=7, begin=5, requests_per_minute=90, tokens_per_minute=None)
    divided = shares(limits, 3)
    assert [one.concurrency for one in divided] == [3, 2, 2]
    assert [one.begin for one in divided] == [2, 2, 1]
    assert {one.requests_per_minute for one in divided} == {30}


def test_failures_and_retries_are_those_of_a_run_without_actors(go, store) -> None:
    def say(prompt: Prompt) -> Reply | ReaderFailure:
        number = int(prompt.text.split()[1])
        if number % 10 == 3:
            return ReaderFailure("HTTP 400: no", heals=False)
        if number % 10 == 7 and reader.asked[prompt.text] == 1:
            return ReaderFailure("HTTP 503: soon", heals=True)
        return Reply("Yes")

    reader = Scripted(say)
    tally = go(questions(100), reader)
    assert (tally.answered, tally.failed, tally.retried) == (90, 10, 10)
    assert tally.reasons == {"HTTP 400": 10}


def test_the_first_trials_that_fail_alike_stop_a_run(go) -> None:
    reader = Scripted(lambda prompt: ReaderFailure("HTTP 401: who?", heals=False))
    tally = go(questions(5000), reader)
    assert tally.stopped is not None
    assert "failed alike: HTTP 401: who?" in tally.stopped
    assert len(reader.asked) < 1000


def test_what_a_dead_actor_had_in_hand_is_asked_again_and_nothing_else(go, store) -> None:
    reader = Scripted(delay=0.005, limits=Limits(concurrency=8, begin=8))
    seen: dict[str, int] = {}

    async def kill(cluster: Actors, stop: asyncio.Event) -> None:
        while len(reader.asked) < 200:
            await asyncio.sleep(0.001)
        await cluster.all[0].die()
        seen["kept"] = store.count()

    tally = go(questions(1000), reader, kill)
    assert (tally.answered, tally.failed) == (1000, 0)
    again = sum(times > 1 for times in reader.asked.values())
    assert max(reader.asked.values()) == 2
    assert 0 < again <= 32  # no more than were under way, or answered and not yet told
    assert again + seen["kept"] <= 1000


def test_a_trial_that_actors_die_of_fails_and_takes_no_other_with_it(go, store) -> None:
    cluster_of: list[Actors] = []

    async def say(prompt: Prompt) -> Reply:
        if prompt.text == "question 30":
            for actor in cluster_of[0].all:
                if asyncio.current_task() in actor.desk._tasks:
                    await actor.die()
            await asyncio.sleep(60)
        await asyncio.sleep(0.001)
        return Reply("Yes")

    async def note(cluster: Actors, stop: asyncio.Event) -> None:
        cluster_of.append(cluster)

    reader = Scripted(limits=Limits(concurrency=8, begin=8))
    reader.reply = say  # type: ignore[method-assign]
    tally = go(questions(300), reader, note)
    assert (tally.answered, tally.failed) == (299, 1)
    assert tally.reasons == {"worker died": 1}
    assert sum(actor.lives - 1 for actor in cluster_of[0].all) == 3


def test_a_request_to_stop_lets_calls_under_way_finish(go, store) -> None:
    reader = Scripted(delay=0.05, limits=Limits(concurrency=8, begin=8))

    async def interrupt(cluster: Actors, stop: asyncio.Event) -> None:
        while len(reader.asked) < 30:
            await asyncio.sleep(0.005)
        stop.set()

    tally = go(questions(1000), reader, interrupt)
    assert tally.failed == 0
    assert tally.answered == store.count() == len(reader.asked) < 100


def test_what_is_timed_is_asked_one_at_a_time_in_order(go) -> None:
    said: list[str] = []
    reader = Scripted(
        lambda prompt: said.append(prompt.text) or Reply("Yes"), limits=Limits(concurrency=1)
    )
    go(questions(100), reader)
    assert said == [f"question {n}" for n in range(100)]
    assert reader.most_at_once == 1


def films(folder: Path, many: int) -> Callable[[], Iterator[Trial]]:
    for number in range(many):
        Image.new("L", (40, 40), number).save(folder / f"{number}.png")

    def plan() -> Iterator[Trial]:
        for number in range(many):
            picture = Picture(Source(str(folder), f"{number}.png"))
            yield Trial(f"case {number}", {}, Request((Message("user", (picture, "What?")),)))

    return plan


@pytest.mark.parametrize("harm", ["another", "gone"])
def test_a_node_with_other_files_stops_the_run_and_is_named(
    go, store, tmp_path, monkeypatch, harm
) -> None:
    """As if the folder of another node were not this one: its digests are of other bytes."""
    plan = films(tmp_path, 40)
    studio = Studio(Sources(store, 1))
    asyncio.run(studio.digest([trial.request for trial in plan()]))
    studio.sources.keep()
    studio.close()
    spoiled = tmp_path / "25.png"
    show = desk._FarStudio.show

    async def elsewhere(self: desk._FarStudio, request: Request, *named: Any) -> Prompt:
        if request.pictures[0].source == Source(str(tmp_path), "25.png"):
            spoiled.unlink() if harm == "gone" else Image.new("L", (40, 40), 99).save(spoiled)
        return await show(self, request, *named)

    monkeypatch.setattr(desk._FarStudio, "show", elsewhere)
    tally = go(plan, Scripted(lambda prompt: Reply("Yes")))
    assert tally.stopped is not None
    assert "Every node needs the data under the same path" in tally.stopped
    assert str(spoiled) in tally.stopped
    assert tally.failed == 0


def test_a_desk_answers_a_stale_token_with_nothing_and_raises_nothing(monkeypatch) -> None:
    monkeypatch.setattr(desk, "_say_nothing", lambda: None)

    def broken(environment: Mapping[str, str]) -> Reader:
        raise ValueError("no such model")

    async def talk() -> None:
        one = Desk()
        READERS["reader"] = Scripted()
        cluster = Actors([Seated("reader", opened), Seated("broken", broken)])
        packed = cluster.opening(cluster._seated["reader"], Limits())
        token, fault = pickle.loads(await one.begin(*packed))
        assert token
        assert not fault
        assert await one.take("another") == b""
        waits = asyncio.ensure_future(one.take(token))  # somebody who is given up meanwhile
        await asyncio.sleep(0)
        again, _ = pickle.loads(await one.begin(*packed))
        await one._settle(Wanted(b"key", b"", {}, None, ""), Reply("yes"))
        assert await waits == b""
        assert pickle.loads(await one.take(again)).outcomes == [(b"key", Reply("yes"))]
        for words in (
            (packed[0].replace(b"0.1.0", b"0.0.9"), packed[1]),
            cluster.opening(cluster._seated["broken"], Limits()),
        ):
            token, fault = pickle.loads(await Desk().begin(*words))
            assert not token
            assert fault.startswith("node ")

    asyncio.run(talk())


def test_the_guard_holds_where_trials_are_asked(go, monkeypatch) -> None:
    """The socket is made by whoever asks: so is the refusal."""
    spec = "openai:m@http://198.51.100.7:9/v1?attempts=1"
    reader = open_reader(spec, guard=Guard("credentialed"), environment={}, controls={})
    tally = go(questions(20), reader)
    assert tally.answered == 0
    assert tally.stopped is not None
    assert "data-use guard" in tally.stopped


def test_messages_stay_below_what_ray_would_keep_in_its_object_store() -> None:
    many = [
        Wanted(bytes([n]), b"", {}, Request((Message("user", ("x" * 5000,)),)), "")
        for n in range(64)
    ]
    letters = list(_letters(many))
    assert max(map(len, letters)) <= LETTER
    assert [item.key for letter in letters for item in pickle.loads(letter)] == [
        bytes([n]) for n in range(64)
    ]


@pytest.mark.parametrize(
    ("address", "actors", "said"),
    [("ray://head:10001", None, "--address ray://head:10001"), (None, 0, "--actors 0")],
)
def test_what_cannot_be_is_refused_in_a_line(address, actors, said) -> None:
    with pytest.raises(BadInput, match=said):
        check(address, actors)


class Nodes:
    """A cluster that was begun elsewhere, as Ray tells of it."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4.0}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "NodeManagerAddress": one} for one in self.addresses]


def test_questions_of_a_credentialed_set_go_to_no_node_at_a_public_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seated = Seated("a", opened, dict, False)
    monkeypatch.setattr(on_ray, "_ray", lambda: Nodes("10.0.0.1", "8.8.8.8"))
    with pytest.raises(
        BadInput, match=r"credentialed and 8\.8\.8\.8 \(a node of the Ray cluster\)"
    ):
        Cluster([seated])._begin()
    for guard in (Guard("open"), Guard("credentialed", ("8.8.8.8",))):
        Cluster([seated], guard=guard)._begin()
