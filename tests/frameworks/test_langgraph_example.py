"""The example for LangGraph runs as it stands, without a network, and prints what a person should see."""

from tests.frameworks.examples import run


def test_the_example_is_interrupted_pays_once_and_replays_without_paying():
    assert run("langgraph_agent.py") == [
        "The graph wants to call bank.pay",
        "  amount: 900",
        '  to: "bob"',
        "You are asked because high risk at autonomy A2 is confirm",
        "Still the same question: True",
        "Paid so far: []",
        "balance -> 1200",
        "bank__pay -> paid 900 to bob",
        "The agent says: Your rent is paid.",
        "Replayed from before the payment: It was paid before.",
        "Paid in all: [900]",
    ]
