"""From a URL to its store."""

from pathlib import Path

import pytest

from callgate.errors import ConfigurationError
from callgate.stores.memory import MemoryStore
from callgate.stores.open import open_store
from callgate.stores.sqlite import SqliteStore
from tests.contracts.makers import HandClock


def test_memory_is_a_memory_store():
    assert isinstance(open_store("memory://", clock=HandClock()), MemoryStore)


async def test_a_relative_url_is_a_file_in_the_folder(tmp_path: Path):
    store = open_store("sqlite:///sub/my%20store.db", clock=HandClock(), folder=tmp_path)
    assert isinstance(store, SqliteStore)
    await store.open()
    await store.close()
    assert (tmp_path / "sub" / "my store.db").is_file()


async def test_an_absolute_url_is_that_file(tmp_path: Path):
    store = open_store(f"sqlite:///{tmp_path / 'x.db'}", clock=HandClock(), folder=Path("/nowhere"))
    await store.open()
    await store.close()
    assert (tmp_path / "x.db").is_file()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "names no store"),
        ("callgate.db", "names no store"),
        ("mysql://host/db", "names no store"),
        ("MEMORY://", "names no store"),
        ("memory://x", "nothing can follow"),
        ("sqlite://relative.db", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:////", "names no file"),
        ("sqlite:///folder/", "names no file"),
        ("sqlite:///x.db?mode=ro", "no options"),
        ("sqlite:///x%00.db", "no options"),
        ("postgresql://host/db", "PostgreSQL stores are not built yet"),
    ],
)
def test_any_other_url_is_a_clear_error(url: str, words: str):
    with pytest.raises(ConfigurationError, match=words) as error:
        open_store(url, clock=HandClock())
    assert error.value.key == "store"
    assert "sqlite:///relative.db" in str(error.value) or "no options" in words or "nothing" in words


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_password_in_a_url_is_not_shown(scheme: str):
    with pytest.raises(ConfigurationError) as error:
        open_store(f"{scheme}://ada:hunter2@host/db", clock=HandClock())
    assert "hunter2" not in str(error.value)
