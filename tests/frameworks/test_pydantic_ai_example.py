"""The example for Pydantic AI runs as it stands, without a network, and prints what a person should see."""

from tests.frameworks.examples import run


def test_the_example_asks_pays_once_what_a_person_said_and_says_who():
    assert run("pydantic_ai_agent.py") == [
        "The agent wants to call bank.pay",
        "  amount: 950",
        '  to: "bob"',
        "You are asked because high risk at autonomy A2 is confirm",
        "Paid so far: []",
        "Ann changed the amount: 950 became 900",
        "The model reads: paid 900 to bob",
        'A person changed the call before it ran; it ran with {"amount":900,"to":"bob"}',
        "The agent says: Your rent is paid.",
        "Resumed once more: Your rent is paid.",
        "Paid in all: [900]",
        "Recorded: bank.pay succeeded approved by ann",
    ]
