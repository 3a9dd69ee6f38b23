"""Descriptions of parameters out of docstrings."""

import pytest

from callgate.adapters.docstrings import read_docstring

GOOGLE = """Send a message.

    It is sent at once.

    Args:
        to: Who gets it,
            and nobody else.
        body (str, optional): What it says: all of it.
        **extra: More.

    Returns:
        to: not a parameter
    """

NUMPY = """
    Send a message.

    It is sent at once.

    Parameters
    ----------
    to : str
        Who gets it,
        and nobody else.
    body, text : str, optional
        What it says: all of it.
    *extra
        More.

    Returns
    -------
    bool
        Whether.
    """

SPHINX = """Send a message.

    It is sent at once.

    :param to: Who gets it,
        and nobody else.
    :param str body: What it says: all of it.
    :type body: str
    :returns: whether
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX])
def test_the_three_styles_are_read(text: str):
    words = read_docstring(text)
    assert words.description == "Send a message.\n\nIt is sent at once."
    assert words.parameters["to"] == "Who gets it, and nobody else."
    assert words.parameters["body"] == "What it says: all of it."
    assert words.parameters.keys() <= {"to", "body", "text", "extra"}


def test_one_line_for_two_parameters():
    assert read_docstring(NUMPY).parameters["text"] == "What it says: all of it."


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_an_empty_docstring_says_nothing(text: str):
    assert read_docstring(text).description == ""


def test_a_docstring_in_no_style_is_all_description():
    text = "Look at this: it has\n  - lists\n  - colons: yes\n\nand no sections."
    assert read_docstring(text).description == text
    assert read_docstring(text).parameters == {}


def test_other_sections_end_the_description_and_give_no_parameters():
    words = read_docstring("Do it.\n\nRaises:\n    ValueError: when not.\n\nNote:\n    x: y")
    assert words.description == "Do it."
    assert words.parameters == {}


def test_an_indented_word_that_names_a_section_is_text():
    text = "Do it.\n\n    Args:\n\nas shown."
    assert read_docstring(text).description == text


def test_a_section_at_the_end_without_lines_is_no_trouble():
    assert read_docstring("Do it.\n\nArgs:").parameters == {}
    assert read_docstring("Do it.\n\nParameters\n----------").parameters == {}


def test_a_parameter_without_words_is_left_out():
    assert read_docstring("Do it.\n\nArgs:\n    x:\n    y: yes").parameters == {"y": "yes"}


def test_text_before_the_first_entry_of_a_section_is_left_out():
    assert read_docstring("Do.\n\nArgs:\n    these are it\n    x: yes").parameters == {"x": "yes"}


def test_a_google_section_ends_where_the_indentation_does():
    assert read_docstring("Do.\n\nArgs:\n    x: yes\nAnd y: no").parameters == {"x": "yes"}
