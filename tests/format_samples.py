"""One small file of each trace format, written for the contract tests. A new format adds its own here.

Each holds two traces or more, a call with its observation, and a picture in base64.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from refiner.archives import zipfile
from refiner.types import Trace

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 12).decode()
URI = f"data:image/png;base64,{PICTURE}"


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def steps(trace: Trace) -> list[tuple[str, str, str]]:
    """What was said and done in it: (name, input, output)."""
    return [(span.name, span.input, span.output) for span in trace.spans]


def chat() -> bytes:
    look = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": URI}}]
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"what": "fern"}'}}
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": look},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "look_up", "content": "Error: no such plant"},
        {"role": "assistant", "content": "I do not know."},
    ]
    first = {"id": "one", "messages": said, "reward": 0.0, "feedback": "It is a fern.", "ground_truth": "fern"}
    return lines(first, {"messages": said[:2], "success": True}, said[:2])


def claude_line(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"m{number}", "model": "model-1", "usage": {"input_tokens": 2, "output_tokens": 3}}
    return {
        "type": role,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number > 1 else None,
        "sessionId": "s1",
        "timestamp": f"2026-01-31T12:00:{number:02}.000Z",
        "message": message,
        **more,
    }


def claude_code() -> bytes:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.txt"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "gone"}],
        "is_error": True,
    }
    return lines(
        {"type": "summary", "summary": "Reading a file", "leafUuid": "u4"},
        claude_line(1, "user", [{"type": "text", "text": "Read it"}, image]),
        claude_line(2, "assistant", [{"type": "thinking", "thinking": "hm"}, use]),
        claude_line(3, "user", [result]),
        claude_line(4, "assistant", [{"type": "text", "text": "It is gone."}]),
        claude_line(5, "user", "Search for it", isSidechain=True, agentId="a1", parentUuid=None),
        claude_line(6, "assistant", [{"type": "text", "text": "Found."}], isSidechain=True, agentId="a1"),
    )


def codex() -> bytes:
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x"}]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "List it"}, {"type": "input_image", "image_url": URI}],
        },
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"},
        {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c1"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": '{"output": "ls: no", "metadata": {"exit_code": 2}}',
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "There is nothing."}]},
    ]
    stamp = "2026-01-31T12:00:00Z"

    def session(name: str) -> list[dict[str, Any]]:
        meta = {"timestamp": stamp, "type": "session_meta", "payload": {"id": name, "instructions": "Be brief."}}
        context = {"timestamp": stamp, "type": "turn_context", "payload": {"model": "model-1"}}
        return [meta, context, *({"timestamp": stamp, "type": "response_item", "payload": item} for item in items)]

    return lines(*session("rollout-1"), *session("rollout-2"))


def inspect_sample(name: int | str, epoch: int, value: Any, **more: Any) -> dict[str, Any]:
    call = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
    seen = [{"type": "text", "text": "Count"}, {"type": "image", "image": "attachment://abc"}]
    messages = [
        {"id": "m1", "role": "user", "content": seen},
        {"id": "m2", "role": "assistant", "content": "Looking.", "tool_calls": [call]},
        {
            "id": "m3",
            "role": "tool",
            "tool_call_id": "c1",
            "function": "bash",
            "content": "",
            "error": {"type": "timeout", "message": "too slow"},
        },
        {"id": "m4", "role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, "Three."]},
    ]
    return {
        "id": name,
        "epoch": epoch,
        "input": "Count the files",
        "target": ["3", "three"],
        "messages": messages,
        "scores": {"match": {"value": value, "answer": "Three", "explanation": "Compared with 3."}},
        "metadata": {"hidden": "gold"},
        "attachments": {"abc": URI},
        "model_usage": {"model-1": {"input_tokens": 7, "output_tokens": 2}},
        **more,
    }


def inspect_header(status: str = "success", version: int = 2) -> dict[str, Any]:
    return {"version": version, "status": status, "eval": {"task": "count", "model": "model-1", "run_id": "r1"}}


def inspect_json() -> bytes:
    samples = [inspect_sample(1, 1, "C"), inspect_sample(1, 2, "I")]
    return json.dumps({**inspect_header(), "samples": samples}, indent=1).encode()


def packed(files: Mapping[str, bytes | str], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def inspect_zip(
    *samples: dict[str, Any],
    header: dict[str, Any] | None = None,
    running: bool = False,
    how: int = zipfile.ZIP_DEFLATED,
) -> bytes:
    packed = io.BytesIO()
    header = header or inspect_header()
    with zipfile.ZipFile(packed, "w", how) as archive:
        archive.writestr("_journal/start.json", json.dumps({key: header[key] for key in ("version", "eval")}))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        if not running:
            archive.writestr("header.json", json.dumps(header))
    return packed.getvalue()


def openhands() -> bytes:
    call = {"id": "c1", "function": {"name": "execute_bash", "arguments": '{"command": "ls x"}'}}
    response = {"model": "model-1", "choices": [{"message": {"tool_calls": [call]}}]}
    told = {"function_name": "execute_bash", "tool_call_id": "c1", "model_response": response}
    stamp = {"timestamp": "2026-01-31T12:00:00.5"}
    asked = {"content": "Mend it", "image_urls": [URI]}
    ran = {"metadata": {"exit_code": 2}}
    events = [
        {"id": 0, **stamp, "source": "user", "action": "message", "args": asked},
        {"id": 1, **stamp, "source": "agent", "action": "run", "args": {"thought": "Hm."}, "tool_call_metadata": told},
        {"id": 2, **stamp, "source": "agent", "cause": 1, "observation": "run", "content": "ls: no x", "extras": ran},
        {"id": 3, **stamp, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}},
    ]
    issue = {"owner": "o", "repo": "r", "number": 5}
    old = [{"content": "Mend it", "action": "message"}, {"command": "ls", "thought": "Hm.", "action": "run"}]
    return lines(
        {"instance_id": "hands-1", "history": events, "instance": {"patch": "+x"}, "error": None},
        {"issue": issue, "history": old, "success": False, "result_explanation": "Nothing was done."},
    )


def observation(name: str, kind: str, start: int, given: Any, gave: Any, **more: Any) -> dict[str, Any]:
    texts = {"input": json.dumps(given), "output": json.dumps(gave)}
    times = {"startTime": f"2026-01-31T12:00:0{start}Z", "endTime": f"2026-01-31T12:00:0{start + 1}Z"}
    return {"id": f"{kind}{start}", "traceId": "t", "type": kind, "name": name, **times, **texts, **more}


def langfuse_trace(name: str, *scores: dict[str, Any]) -> dict[str, Any]:
    look = {"role": "user", "content": [{"type": "text", "text": "Read a"}, {"type": "image_url", "image_url": URI}]}
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    reply = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "words"}
    last = {"role": "assistant", "content": "It says words."}
    observations = [
        observation("chat", "GENERATION", 3, [look, reply, answer], last, model="model-1"),
        observation("read", "TOOL", 2, {"path": "a"}, "words"),
        observation("chat", "GENERATION", 1, [look], {"choices": [{"message": reply}]}, model="model-1"),
        observation("agent", "SPAN", 0, {"messages": [look]}, last),
    ]
    return {"trace": {"id": name, "name": "run", "scores": list(scores)}, "observations": observations}


def langfuse() -> bytes:
    score = {"name": "correctness", "value": 0, "dataType": "NUMERIC", "source": "EVAL", "comment": "It says more."}
    api = langfuse_trace("lf-2")
    return lines(langfuse_trace("lf-1", score), {**api["trace"], "observations": api["observations"]})


def otlp(
    name: str, parent: str, start: int, told: dict[str, Any], trace: str = "ab" * 16, **more: Any
) -> dict[str, Any]:
    def typed(value: Any) -> dict[str, Any]:
        if isinstance(value, int):
            return {"intValue": str(value)}
        return {"stringValue": value if isinstance(value, str) else json.dumps(value)}

    times = {"startTimeUnixNano": f"17698608{start:02}000000000", "endTimeUnixNano": f"17698608{start + 1:02}000000000"}
    attributes = [{"key": key, "value": typed(value)} for key, value in told.items()]
    ids = {"traceId": trace, "spanId": f"{name}-{start}".encode().hex(), "parentSpanId": parent}
    return {**ids, "name": name, **times, "attributes": attributes, "status": {}, **more}


def envelope(*spans: dict[str, Any]) -> dict[str, Any]:
    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "garden"}}]}
    return {"resourceSpans": [{"resource": service, "scopeSpans": [{"spans": list(spans)}]}]}


def otel_run(trace: str) -> list[dict[str, Any]]:
    picture = {"type": "blob", "mime_type": "image/png", "data": PICTURE}
    asked = {"role": "user", "parts": [{"type": "text", "content": "Read a"}, picture]}
    call = {"type": "tool_call", "id": "c1", "name": "read", "arguments": {"path": "a"}}
    reply = {"role": "assistant", "parts": [call]}
    answer = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "words"}]}
    last = {"role": "assistant", "parts": [{"type": "text", "content": "It says words."}]}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-1", "gen_ai.usage.input_tokens": 7}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read", "gen_ai.tool.call.id": "c1"}
    first = {**chat, "gen_ai.input.messages": [asked], "gen_ai.output.messages": [reply]}
    second = {**chat, "gen_ai.input.messages": [asked, reply, answer], "gen_ai.output.messages": [last]}
    ran = {**tool, "gen_ai.tool.call.arguments": {"path": "a"}, "gen_ai.tool.call.result": "words"}
    root = otlp("invoke_agent", "", 0, {"gen_ai.operation.name": "invoke_agent", "session.id": "s1"}, trace)
    inner = [otlp("chat", root["spanId"], 3, second, trace), otlp("read", root["spanId"], 2, ran, trace)]
    return [*inner, otlp("chat", root["spanId"], 1, first, trace), root]


def otel() -> bytes:
    return lines(envelope(*otel_run("ab" * 16)), envelope(*otel_run("cd" * 16)))


def langsmith_runs(trace: str) -> list[dict[str, Any]]:
    def run(name: str, kind: str, start: int, given: Any, gave: Any, **more: Any) -> dict[str, Any]:
        times = {"start_time": f"2026-01-31T12:00:0{start}", "end_time": f"2026-01-31T12:00:0{start + 1}"}
        order = f"20260131T12000{start}Z{trace}-{name}"
        ids = {"id": f"{trace}-{name}", "trace_id": trace, "dotted_order": order, "session_name": "garden"}
        return {**ids, "name": name, "run_type": kind, "inputs": given, "outputs": gave, **times, **more}

    look = {"role": "user", "content": [{"type": "text", "text": "Read a"}, {"type": "image_url", "image_url": URI}]}
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    reply = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "words"}
    usage = {"usage_metadata": {"input_tokens": 7, "output_tokens": 2}}
    under = {"parent_run_id": f"{trace}-agent"}
    last = {"choices": [{"message": {"role": "assistant", "content": "It says words."}}], "model": "model-1", **usage}
    return [
        run("agent", "chain", 0, {"input": "Read a"}, {"output": "It says words."}),
        run("chat2", "llm", 3, {"messages": [look, reply, answer], "model": "model"}, last, **under),
        run("read", "tool", 2, {"input": '{"path": "a"}'}, {"output": "words"}, **under),
        run("chat1", "llm", 1, {"messages": [look]}, {"choices": [{"message": reply}], **usage}, **under),
    ]


def langsmith() -> bytes:
    return lines(*langsmith_runs("ls-1"), *langsmith_runs("ls-2"))


def react_notebook() -> bytes:
    asked = [
        "7 Claim: Ferns flower.\nThought 1: Look it up.\nAction 1: Search[fern]\n",
        f"Observation 1: A plant {URI}\n\nThought 2: It says no.\nAction 2: Finish[REFUTES]\n",
        "Observation 2: Episode finished, reward = 1\n\n\n{'steps': 2, 'gt_answer': 'REFUTES', 'reward': 1} \n\n"
        "1 1 1.0 4.0\n-----------\n\n",
        "8 Claim: Palms flower.\nThought 1: No.\nAction 1: Finish[REFUTES]\n",
        "Observation 1: Episode finished, reward = 0\n\n\n{'steps': 1, 'gt_answer': 'SUPPORTS', 'reward': 0} \n",
    ]

    def notebook(*printed: str) -> dict[str, Any]:
        outputs = [{"output_type": "stream", "name": "stdout", "text": [text]} for text in printed]
        return {"nbformat": 4, "cells": [{"cell_type": "code", "source": ["run()"], "outputs": outputs}]}

    return lines(notebook(*asked[:3]), notebook(*asked[3:]))


def generic() -> bytes:
    call = {
        "id": "t1",
        "name": "read_file",
        "args": {"path": "a"},
        "result": [{"functionResponse": {"response": {"output": "words"}}}],
    }
    said = [
        {"type": "user", "content": "Read a", "timestamp": "2026-01-31T12:00:00Z"},
        {"type": "gemini", "content": "Done.", "toolCalls": [call], "model": "model-1"},
        {"type": "user", "content": [{"inlineData": {"mimeType": "image/png", "data": PICTURE}}]},
        {"type": "info", "content": "Update available"},
    ]
    return lines(
        {"sessionId": "g1", "projectHash": "x", "messages": said},
        {"sessionId": "g2", "projectHash": "x", "messages": said[:2]},
    )


def canonical() -> bytes:
    spans = [
        {"span_id": "a", "name": "user", "output_text": f"Look at {URI}"},
        {"span_id": "b", "name": "read", "input_text": '{"path": "a"}', "output_text": "Error: gone"},
    ]
    first = {"trace_id": "first", "spans": spans, "outcome": "fail", "feedback": "It was moved."}
    return lines(first, {"trace_id": "second", "spans": spans, "reward": 1, "task_id": 7})


def tau_bench() -> bytes:
    call = {"id": "c1", "function": {"name": "repot", "arguments": '{"plant": "fern"}'}}
    traj = [
        {"role": "user", "content": [{"type": "text", "text": "Repot it"}, {"type": "image_url", "url": URI}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "repot", "content": "Error: no pot"},
    ]
    task = {"actions": [{"name": "repot", "kwargs": {"plant": "palm"}}], "instruction": "Hidden", "outputs": ["12"]}
    runs = [{"task_id": 1, "trial": n, "reward": n, "info": {"task": task}, "traj": traj} for n in (0, 1)]
    return json.dumps(runs).encode()


def tau2_simulation(name: str, reward: float, **more: Any) -> dict[str, Any]:
    call = {"id": "c1", "name": "repot", "arguments": {"plant": "fern"}, "requestor": "assistant"}
    toggle = {"id": "c2", "name": "open_window", "arguments": {"wide": True}, "requestor": "user"}
    messages = [
        {"role": "assistant", "content": '{"message": "How can I help?"}', "turn_idx": 0},
        {"role": "user", "content": [{"type": "text", "text": "Repot it"}, {"type": "image_url", "url": URI}]},
        {"role": "assistant", "content": "", "tool_calls": [call], "usage": {"prompt_tokens": 7}},
        {"role": "tool", "id": "c1", "content": "Error: no pot", "requestor": "assistant", "error": True},
        {"role": "user", "content": None, "tool_calls": [toggle]},
        {"role": "tool", "id": "c2", "content": "Error: it sticks", "requestor": "user"},
    ]
    gold = {"action_id": "9_0", "requestor": "assistant", "name": "repot", "arguments": {"plant": "palm"}}
    checked = {
        "reward": reward,
        "db_check": {"db_match": reward == 1},
        "action_checks": [{"action": gold, "action_match": False}],
        "communicate_checks": [{"info": "12", "met": reward == 1}],
        "reward_basis": ["DB", "COMMUNICATE"],
    }
    ended = {"task_id": "0", "trial": 0, "termination_reason": "user_stop", "reward_info": checked}
    return {"id": name, **ended, "messages": messages, **more}


def tau2_results(*simulations: dict[str, Any]) -> dict[str, Any]:
    gold = {"action_id": "9_0", "requestor": "assistant", "name": "repot", "arguments": {"plant": "palm"}}
    wanted = {"actions": [gold], "communicate_info": ["12"]}
    task = {"id": "9", "user_scenario": {"instructions": "Hidden wish"}, "evaluation_criteria": wanted}
    other = {"id": "0", "user_scenario": "Another wish", "evaluation_criteria": {"actions": []}}
    info = {"environment_info": {"domain_name": "garden", "policy": "Be kind to plants."}}
    return {"info": {**info, "agent_info": {"llm": "model-1"}}, "tasks": [other, task], "simulations": [*simulations]}


def tau2_bench() -> bytes:
    return json.dumps(tau2_results(tau2_simulation("sim-1", 0.0), tau2_simulation("sim-2", 1.0))).encode()


def swe_agent() -> bytes:
    told = [
        {"role": "system", "content": "You have a shell.", "agent": "main"},
        {"role": "user", "content": "Here is a demonstration", "agent": "main", "is_demo": True},
        {"role": "user", "content": f"Mend it {URI}", "agent": "main"},
        {"role": "assistant", "content": "Look.\n```\nls\n```", "thought": "Look.", "action": "ls", "agent": "main"},
    ]
    step = {
        "action": "ls\n",
        "observation": "a.py",
        "response": "Look.\n```\nls\n```",
        "thought": "Look.",
        "state": "{}",
    }
    info = {"exit_status": "submitted", "model_stats": {"instance_cost": 0.5, "tokens_sent": 7}}
    run = {"environment": "main", "trajectory": [step], "history": told, "info": info}
    return lines(run, {**run, "info": {"exit_status": "exit_environment_error"}})


def mini_swe_agent() -> bytes:
    def run(name: str, status: str) -> dict[str, Any]:
        reply = {"role": "assistant", "content": "Look.\n\n```bash\nls x\n```", "extra": {"timestamp": 1769860800.0}}
        said = [
            {"role": "system", "content": "You have a shell."},
            {"role": "user", "content": f"Mend it {URI}"},
            reply,
            {"role": "user", "content": "<returncode>2</returncode>\n<output>\nls: no x</output>"},
        ]
        info = {"exit_status": status, "mini_version": "1.14.0", "config": {"model": {"model_name": "model-1"}}}
        return {"info": info, "messages": said, "trajectory_format": "mini-swe-agent-1", "instance_id": name}

    return lines(run("one", "Submitted"), run("two", "LimitsExceeded"))


def toolbench_answer(win: bool, *kept: list[dict[str, Any]], tree: Any = None, **more: Any) -> dict[str, Any]:
    generated = {"query": "Count the ferns", "total_tokens": 9, "query_count": 2, "finish_type": "give_up", **more}
    generated |= {"train_messages": list(kept)} if kept else {}
    return {"win": win, "tree": {"size": 3, "tree": tree or {"children": []}}, "answer_generation": generated}


TOOLBENCH = [
    {"role": "system", "content": "You have tools."},
    {"role": "user", "content": f"\nCount the ferns\nBegin! {URI}"},
    {"role": "assistant", "content": "", "function_call": {"name": "count", "arguments": '{"of": "palms"}'}},
    {"role": "function", "name": "count", "content": '{"error": "No such \\"plant\\"\\nTry again", "response": ""}'},
    {"role": "user", "content": "This is not the first try.", "valid": False},
    {"role": "assistant", "content": "Ferns then.", "function_call": {"name": "count", "arguments": '{"of": "ferns"}'}},
    {"role": "function", "name": "count", "content": '{"error": "", "response": "3"}'},
    {"role": "assistant", "content": "", "function_call": {"name": "Finish", "arguments": '{"answer": "3"}'}},
]


def toolbench() -> bytes:
    return lines(toolbench_answer(True, TOOLBENCH[:5], TOOLBENCH), toolbench_answer(False, TOOLBENCH[:4]))


def who_and_when_record(name: str, **more: Any) -> dict[str, Any]:
    history = [
        {"role": "user", "name": "Fern_Expert", "content": f"Count the ferns. ![a fern]({URI})"},
        {"role": "assistant", "name": "Fern_Expert", "content": "This counts:\n```python\nprint(ferns)\n```"},
        {"role": "user", "name": "Computer_terminal", "content": "exitcode: 1 (execution failed)\nNo such name"},
        {"role": "user", "name": "Checker", "content": "There are none. TERMINATE"},
        {"role": "user", "name": "Computer_terminal", "content": "There is no code to run."},
    ]
    asked = {"question": "How many ferns?", "question_ID": name, "level": "1", "ground_truth": "3"}
    marked = {"mistake_agent": "Fern_Expert", "mistake_step": "1", "mistake_reason": "It never defined the ferns."}
    told = {"Fern_Expert": "You know ferns."}
    return {"is_correct": False, **asked, "history": history, **marked, "system_prompt": told, **more}


def who_and_when() -> bytes:
    return lines(who_and_when_record("q1"), who_and_when_record("q2"))


def reflexion_record(name: str, solved: bool, *reflections: str) -> dict[str, Any]:
    asked = {
        "name": name,
        "language": "rs",
        "prompt": f"/// Count the ferns of {URI}",
        "test": "assert_eq!(3, ferns())",
    }
    return {**asked, "is_solved": solved, "reflections": list(reflections), "solution": "fn ferns() { 3 }"}


def reflexion() -> bytes:
    return lines(
        reflexion_record("mbpp_1", True), reflexion_record("mbpp_2", False, "It counts palms.", "Still palms.")
    )


REACT = f"""
########################################
BEGIN TRIAL 1
Trial summary: Correct: 1, Incorrect: 1, Halted: 0
########################################
------------- BEGIN CORRECT AGENTS -------------

Question: How tall is a fern?
Thought 1: I look it up.
Action 1: Search[fern]
Observation 1: Ferns are 3 m tall.
They look like {URI} this.
Thought 2: It is 3 m.
Action 2: Finish[3 m]
Observation 2: Answer is CORRECT
Correct answer: 3 m

------------- BEGIN INCORRECT AGENTS -----------

Question: Who named the palm?
Thought 1: I guess.
Action 1: Finish[Linnaeus]
Observation 1: Answer is INCORRECT
Correct answer: Ray

BEGIN TRIAL 2
------------- BEGIN HALTED AGENTS --------------

Question: Who named the palm? You have attempted to answer following question before and failed. Here is what you noted.
Reflections:
- I should have looked at the page.
Thought 1: I look.
Action 1: Look it up
Observation 1: Invalid action.
"""


def trajectory(name: str, **more: Any) -> dict[str, Any]:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"cmd": "ls"}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    steps = [
        {"step_id": 1, "source": "user", "message": [{"type": "text", "text": "List it"}, picture]},
        {
            "step_id": 2,
            "timestamp": "2026-01-31T12:00:00Z",
            "source": "agent",
            "message": "Looking.",
            "reasoning_content": "hm",
            "tool_calls": [call],
            "observation": {"results": [{"source_call_id": "c1", "content": "Error: no such folder"}]},
            "metrics": {"prompt_tokens": 7, "completion_tokens": 2, "cost_usd": 0.25},
        },
    ]
    agent = {"name": "agent-1", "version": "1", "model_name": "model-1"}
    return {"schema_version": "ATIF-v1.5", "session_id": name, "agent": agent, "steps": steps, **more}


def harbor() -> bytes:
    return lines(trajectory("a1"), trajectory("a2"))


def terminal_bench_trial(name: str, resolved: bool | None, **more: Any) -> dict[str, Any]:
    tests = {"test_file": "passed" if resolved else "failed"}
    asked = {"task_id": "list-it", "instruction": f"List it {URI}"}
    return {
        "trial_name": name,
        **asked,
        "is_resolved": resolved,
        "failure_mode": "unset",
        "parser_results": tests,
        **more,
    }


def terminal_bench() -> bytes:
    return lines({"id": "run", "results": [terminal_bench_trial("t1", True), terminal_bench_trial("t2", False)]})


def spreadsheet_task(name: str, **more: Any) -> dict[str, Any]:
    said = [
        f"You write code.\n### instruction\nAdd up column B {URI}\n\n### answer_position\nB9",
        "I look.\n```python\nprint(sheet['B'])\n```",
        "Traceback (most recent call last)\nNameError: name 'sheet' is not defined",
        "```python\nsheet = load()\n```",
        "",
    ]
    return {"id": name, "instruction_type": "Cell-Level Manipulation", "conversation": said, "solution": "x", **more}


def spreadsheet_bench() -> bytes:
    return lines(spreadsheet_task("13-1"), spreadsheet_task("59196"))


def table() -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["run_id", "step", "role", "tool", "arguments", "content", "outcome"])
    for run, outcome in (("r1", "pass"), ("r2", "fail")):
        writer.writerow([run, 1, "user", "", "", f"Repot it\n{URI}", ""])
        writer.writerow([run, 2, "", "repot", '{"plant": "fern"}', "Error: no pot", ""])
        writer.writerow([run, 3, "assistant", "", "", "There is no pot.", outcome])
    return out.getvalue().encode()


SAMPLES: dict[str, bytes] = {
    "canonical": canonical(),
    "chat": chat(),
    "claude-code": claude_code(),
    "codex": codex(),
    "generic": generic(),
    "harbor": harbor(),
    "inspect-ai": inspect_json(),
    "langfuse": langfuse(),
    "langsmith": langsmith(),
    "mini-swe-agent": mini_swe_agent(),
    "openhands": openhands(),
    "otel": otel(),
    "react-notebook": react_notebook(),
    "spreadsheet-bench": spreadsheet_bench(),
    "swe-agent": swe_agent(),
    "table": table(),
    "react-text": REACT.encode(),
    "reflexion": reflexion(),
    "tau-bench": tau_bench(),
    "tau2-bench": tau2_bench(),
    "terminal-bench": terminal_bench(),
    "toolbench": toolbench(),
    "who-and-when": who_and_when(),
}
"""By the name of the format."""

WITHOUT_CALLS = {"reflexion", "terminal-bench"}
"""Formats that record no tool calls."""
AS_TEXT = {"react-text", "table"}
"""Formats that are no JSON."""
