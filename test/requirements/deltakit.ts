// DeltaKit, clause by clause, in our own words. It has no written protocol: what its parser, its default transports and
// its guides take is what counts. `ours` marks what we add, or decide where it is silent; docs/protocols/deltakit.md
// explains each of these.
import { clausesOf, type Manifest } from './manifest.ts'

const frames = `
DK-SSE-01 | 0.2 | parser | An event is one line "data: <json>" and an empty line, with LF alone.
DK-SSE-02 | 0.2 | parser | A document never breaks over lines, whatever characters it holds.
DK-SSE-03 | 0.2 | parser | Every document is an object with a type.
DK-SSE-04 | 0.2 | parser | The stream ends with "data: [DONE]" and an empty line, and nothing comes after it.
DK-SSE-05 | 0.2 | guides | The answer is 200 with text/event-stream, not cached and not buffered.
DK-SSE-06 | 0.2 | parser | Heartbeats are comments, which clients skip.
DK-SSE-07 | 0.2 | parser | What comes in pieces of any size, torn inside a character too, reads the same.
DK-SSE-08 | 0.2 | parser | Lines that are no data, and data that is no JSON, are skipped by our client as by theirs.
DK-SSE-09 | 0.2 | parser | A last block without its empty line is lost, in our client as in theirs.
`

const chat = `
DK-CHAT-01 | 0.2 | transport sse | POST with {"message"} is answered by a stream of the turn.
DK-CHAT-02 | 0.2 | transport sse | Only the new text is sent; the server keeps the history.
DK-CHAT-03 | 0.2 | transport sse | Members that are not known are left alone.
DK-CHAT-04 | 0.2 | ours | sessionId in the body, or X-Session-Id, names the session; an id that a client chose makes it.
DK-CHAT-05 | 0.2 | ours | Without a session one is made, told in X-Session-Id and in a session event, which default clients ignore.
DK-CHAT-06 | 0.2 | ours | The agent is named in the path or in the body; without a name it is the first.
DK-CHAT-07 | 0.2 | transport sse | What is refused before the stream is not 2xx, says why, and leaves the session as it was.
DK-CHAT-08 | 0.2 | guides | What fails later is an error event, and the stream breaks off without [DONE]: the hook shows no other failure.
DK-CHAT-09 | 0.2 | transport sse | A client that goes away does not end the turn.
DK-CHAT-10 | 0.2 | ours | A message while a turn runs is refused with 409.
DK-CHAT-11 | 0.2 | ours | The same Idempotency-Key is the same request: it is answered again, and done once.
DK-CHAT-12 | 0.2 | ours | A stranger's session is 404 on every route.
DK-CHAT-13 | 0.2 | ours | A turn that ends otherwise than by an answer says so in a stopped event.
`

const events = `
DK-EVENT-01 | 0.2 | events | text_delta carries pieces of text that add up to the answer.
DK-EVENT-02 | 0.2 | guides | reasoning carries pieces of reasoning, to be accumulated.
DK-EVENT-03 | 0.2 | events | tool_call is whole: tool_name and argument as JSON text, never in pieces.
DK-EVENT-04 | 0.2 | tool calls | call_id is always there, and unique in the message.
DK-EVENT-05 | 0.2 | tool calls | tool_result follows its tool_call and carries the same call_id.
DK-EVENT-06 | 0.2 | events | output is a string: what is no text is told in words.
DK-EVENT-07 | 0.2 | tool calls | A failure stands in output, in words.
DK-EVENT-08 | 0.2 | tool calls | One answer may have several calls; each has its own result.
DK-EVENT-09 | 0.2 | tool calls | Text may come before, between and after calls.
DK-EVENT-10 | 0.2 | ours | The argument of free text, or of what is no object, is an object with a member input.
DK-EVENT-11 | 0.2 | ours | A model step that starts over shows nothing twice, and what stands last is the answer.
DK-EVENT-12 | 0.2 | events | A client that knows text_delta alone shows the whole text.
`

const calls = `
DK-CALL-01 | 0.2 | ours | A call that needs a permission is a tool_approval_request, and the stream ends.
DK-CALL-02 | 0.2 | ours | POST /api/chat/answer with an approval runs the call and streams on.
DK-CALL-03 | 0.2 | ours | A refusal becomes the call's result, with its reason, and streams on.
DK-CALL-04 | 0.2 | ours | Tools declared in the body are the client's: a call of one is a tool_execute_request.
DK-CALL-05 | 0.2 | ours | A result for it, text or any JSON, streams on; a failure is marked with error.
DK-CALL-06 | 0.2 | ours | An approval may change the argument; that is shown, and the call runs with it.
DK-CALL-07 | 0.2 | ours | An approval bound to other arguments than those that wait is refused.
DK-CALL-08 | 0.2 | ours | An unknown call, or one that has its answer, refuses the whole request, and nothing of it is recorded.
DK-CALL-09 | 0.2 | ours | With stream false an answer is taken and nothing is streamed.
DK-CALL-10 | 0.2 | ours | An approval can be remembered for the session.
`

const jobs = `
DK-JOB-01 | 0.2 | background | POST /api/jobs gives runId and job_id, the same, and status pending.
DK-JOB-02 | 0.2 | background | GET events streams the run from its start, then done, then [DONE].
DK-JOB-03 | 0.2 | example server | Every event has an id line, numbered from 0 without gaps.
DK-JOB-04 | 0.2 | background | Asked again, it replays the same events under the same numbers.
DK-JOB-05 | 0.2 | example server | last_event_id, or Last-Event-ID, leaves out what the client has.
DK-JOB-06 | 0.2 | example server | GET of a job tells its status and its times.
DK-JOB-07 | 0.2 | background | POST cancel without a body answers {"status":"ok"}; the run ends with done and is cancelled.
DK-JOB-08 | 0.2 | example server | An unknown job is 404 with {"detail":"Job not found"}; a stranger's too.
DK-JOB-09 | 0.2 | background | A run that fails ends with an error event, then [DONE], and is failed.
DK-JOB-10 | 0.2 | ours | Runs survive a restart, finished or not: their events have the same numbers.
DK-JOB-11 | 0.2 | ours | The stream of a run goes on through a wait; the answer may come from anywhere.
DK-JOB-12 | 0.2 | background | Several readers see the same run; one that goes away changes nothing.
DK-JOB-13 | 0.2 | example server | GET active-run gives the run that is not over, with its message and events, or nulls.
DK-JOB-14 | 0.2 | background | POST cancel without a key and a body stops the run: its id is signed and says whose it is.
`

const sockets = `
DK-WS-01 | 0.2 | websocket | A frame with message starts a run; the first event is run_started with runId.
DK-WS-02 | 0.2 | websocket | Events are text frames, each one JSON object; done ends the run.
DK-WS-03 | 0.2 | websocket | A frame with runId replays the run from its start.
DK-WS-04 | 0.2 | websocket | lastEventId leaves out what the client has; run_started is number 0.
DK-WS-05 | 0.2 | example server | An unknown run is an error event "Run not found", and the socket stays open.
DK-WS-06 | 0.2 | example server | A frame with neither message nor runId is an error event, and the socket stays open.
DK-WS-07 | 0.2 | example server | A frame that is no JSON object, or has the wrong types, is an error event and closes with 1003.
DK-WS-08 | 0.2 | websocket | A run that fails ends with an error event.
DK-WS-09 | 0.2 | websocket | Both message and runId: the run is taken up while it lasts, else the message starts the next.
DK-WS-10 | 0.2 | websocket | A cancelled run ends with done.
DK-WS-11 | 0.2 | ours | Approvals and results can be sent as a frame.
DK-WS-12 | 0.2 | ours | A socket needs the key that a request needs, in a header or as a subprotocol, and an allowed origin.
DK-WS-13 | 0.2 | websocket | A socket that closes does not end the run.
`

const history = `
DK-HIST-01 | 0.2 | fromOpenAiAgents | GET history is a list of items that the converter turns into messages.
DK-HIST-02 | 0.2 | fromOpenAiAgents | Calls and results are items that share a call_id; calls that wait have no output yet.
DK-HIST-03 | 0.2 | fromOpenAiAgents | Reasoning is an item with summary texts.
DK-HIST-04 | 0.2 | fromOpenAiAgents | What was streamed and what is read back show the same parts.
`

const client = `
DK-PART-01 | 0.2 | types | A tool_call part has tool_name, argument and callId; it is pending while result is undefined.
DK-PART-02 | 0.2 | tool calls | A result is set on the part of the same id in the last assistant message.
DK-PART-03 | 0.2 | event helpers | Text extends the last part if that is text, else it is a new part; reasoning likewise.
DK-PART-04 | 0.2 | hook | A message is a user message and an empty assistant message, whose id is its own.
DK-PART-05 | 0.2 | ours | Calls that wait for a person or for the application are told apart.
DK-PART-06 | 0.2 | types | call_id may be null or missing: then a result belongs to the last open call.
`

const manifest: Manifest = {
  protocol: 'DeltaKit',
  prefix: 'DK',
  clauses: [frames, chat, events, calls, jobs, sockets, history, client].flatMap(clausesOf),
}

export default manifest
