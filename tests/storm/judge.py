# SPDX-License-Identifier: MIT
"""Compares what the layers saw with what was called. Each difference is one line of text."""
from ledger import FUNCTIONS, LAYERS, ON


def arrivals(ledger):
    """For each layer, the calls of each function that came to its place in the stack."""
    program = list(ledger.program)
    downs = [list(ledger.column(layer, "down")) for layer in range(LAYERS)]
    tops = [list(ledger.column(layer, "top")) for layer in range(LAYERS)]
    above = [program[f] + sum(top[f] for top in tops) for f in range(FUNCTIONS)]
    result = [above]
    for layer in range(1, LAYERS):
        result.append(above)
        if any(downs[layer]):
            above = [before + own for before, own in zip(above, downs[layer])]
    return result


def layer_differences(ledger, layer, kind, arrived, names):
    if ledger.inits(layer) != 1:
        yield f"layer {layer} ({kind}) was initialised {ledger.inits(layer)} times"
    takes, seen, mark, low, high = (ledger.column(layer, name)
                                    for name in ("takes", "seen", "mark", "low", "high"))
    state = ledger.state(layer)
    for f in range(FUNCTIONS):
        if not arrived[f] and not seen[f]:
            continue
        since = arrived[f] - mark[f]
        least = max(0, low[f] + (since if state == ON else 0) - ledger.slack[f])
        most = high[f] + (since if state else 0)
        if not takes[f]:
            least = most = 0
        if not least <= seen[f] <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            yield f"layer {layer} ({kind}) saw {seen[f]} of {wanted} calls of {names[f]}"


def differences(plan, ledger, names):
    yield from ledger.messages
    if ledger.message_count > len(ledger.messages):
        yield f"… and {ledger.message_count - len(ledger.messages)} further messages"
    if not ledger.ended and not plan.ends_early:
        yield f"the script did not come to its end: {ledger.steps} of {plan.step_count} steps"
    elif ledger.ended and ledger.steps != plan.step_count:
        yield f"{ledger.steps} of {plan.step_count} steps were carried out"
    arrived = arrivals(ledger)
    for layer, entry in enumerate(plan.layers, 1):
        if entry.counts:
            yield from layer_differences(ledger, layer, entry.kind, arrived[layer], names)
