// The Responses API (OpenAI's, in the form that Open Responses and Sixerr share), clause by clause, in our own words.
// Versions: `openai` for the API itself, `open` for the Open Responses schema, `sixerr` for the relay's profile.
// `ours` marks what we add, or decide where they are silent; docs/protocols/responses.md explains each of these.
import { clausesOf, type Manifest } from './manifest.ts'

const request = `
RESP-REQ-01 | openai open sixerr | request, model | model names an agent; else a configured model, which answers as the first agent.
RESP-REQ-02 | sixerr | routing | auto and default mean the first agent.
RESP-REQ-03 | openai sixerr | errors | An unknown model is 404 with the code model_not_found.
RESP-REQ-04 | sixerr | POST /v1/responses/:agentId | The agent may stand in the path; an unknown one is 404.
RESP-REQ-05 | sixerr | request, agent_id | The agent may stand in agent_id; together with routing it is 400.
RESP-REQ-06 | openai open sixerr | request, input | input is a text, or a list of items.
RESP-REQ-07 | openai sixerr | request | An unknown parameter is 400, and its place is named.
RESP-REQ-08 | openai | request | Parameters of other APIs are refused with where they have moved.
RESP-REQ-09 | openai open | request | Every parameter has its type; another is 400 with the parameter's name.
RESP-REQ-10 | openai open sixerr | request, instructions | instructions come after the agent's own, for this request alone.
RESP-REQ-11 | openai open | request | Sampling, reasoning, text, metadata and the like reach a vendor of this protocol as they are.
RESP-REQ-12 | openai open sixerr | request, max_output_tokens | max_output_tokens bounds the answer.
RESP-REQ-13 | openai open | request, parallel_tool_calls | parallel_tool_calls reaches the model.
RESP-REQ-14 | openai | request, metadata | metadata has at most 16 texts of bounded length.
RESP-REQ-15 | openai | request | A request with nothing to answer is 400.
`

const items = `
RESP-ITEM-01 | openai open sixerr | items, message | Messages of user, assistant, system and developer, as a text or as parts.
RESP-ITEM-02 | openai open | parts | Images and files in the fields image_url, file_data and file_url.
RESP-ITEM-03 | sixerr | parts, source | Images and files in a source object, by url or in base64.
RESP-ITEM-04 | openai open sixerr | items, function_call | Every call has an output before the model is asked: No tool output found.
RESP-ITEM-05 | openai open sixerr | items, function_call_output | Every output has its call earlier, one to one: No tool call found.
RESP-ITEM-06 | openai | items, call_id | A call_id has 1 to 64 characters and occurs once.
RESP-ITEM-07 | openai | items, custom_tool_call | Custom calls and their outputs are taken like functions.
RESP-ITEM-08 | openai open | items, reasoning | Encrypted reasoning goes back to the model that made it, byte for byte.
RESP-ITEM-09 | ours | items, reasoning | What any vendor wants back is carried in encrypted_content when the request includes it.
RESP-ITEM-10 | ours | items, reasoning | It is sealed for its owner: what another owner or server sealed is left out.
RESP-ITEM-11 | openai sixerr | items, item_reference | A reference is taken for an item of a stored response, else 404.
RESP-ITEM-12 | openai sixerr | items | Unknown item types and members are 400.
RESP-ITEM-13 | ours | items | A call that never was whole may come back without an output.
RESP-ITEM-14 | openai | items, function_call_output | An output may hold images and files.
RESP-ITEM-15 | openai sixerr | items | Results are read by the model in the order in which it asked.
`

const tools = `
RESP-TOOL-01 | openai open | tools | Functions are declared flat.
RESP-TOOL-02 | sixerr | tools | Functions may be declared nested under function.
RESP-TOOL-03 | openai | tools, custom | Custom tools take free text, bound by a grammar or by nothing.
RESP-TOOL-04 | openai open sixerr | tool_choice | auto, none and required reach the model.
RESP-TOOL-05 | openai sixerr | tool_choice | One function may be demanded, flat or nested; a custom tool too.
RESP-TOOL-06 | openai open | tool_choice | allowed_tools bounds the choice.
RESP-TOOL-07 | openai | tool_choice | A choice of a tool that is not declared is 400.
RESP-TOOL-08 | ours | tools | Tools that a server would run are refused: a request cannot make the server reach out.
RESP-TOOL-09 | sixerr | parties | Without a stored response nothing runs on the server, whatever a tool is called.
RESP-TOOL-10 | openai | tools | A name declared twice is 400.
RESP-TOOL-11 | sixerr | tool round trip | A response that asks for tools is completed, with one function_call per call.
RESP-TOOL-12 | sixerr | tool round trip | The conversation sent back with all outputs gives the final message.
RESP-TOOL-13 | openai | strict | strict and the schema reach the model as they were declared.
`

const resource = `
RESP-RES-01 | openai open sixerr | response | id, object, created_at, status, model, output and usage are there.
RESP-RES-02 | open | schema | Every field that Open Responses requires is there, also when it was not set.
RESP-RES-03 | openai | response | What the request set is told back.
RESP-RES-04 | openai sixerr | usage | usage counts what the model read and wrote; totals add up.
RESP-RES-05 | openai | status | The length limit gives incomplete with max_output_tokens; a call that was cut off is not given.
RESP-RES-06 | openai | status | The provider's filter gives incomplete with content_filter.
RESP-RES-07 | openai | refusal | A refusal is a refusal part of a completed response.
RESP-RES-08 | openai sixerr | errors | A model that fails or hangs is an HTTP error without a stream, a failed response with one.
RESP-RES-09 | ours | status | A limit of the runtime gives incomplete, with a reason, in a stored response.
RESP-RES-10 | openai | items, reasoning | Thinking is shown as summaries of a reasoning item.
RESP-RES-11 | openai | items, phase | The phase of a message is given, taken back and passed on; texts of another phase are another message.
RESP-RES-12 | openai open | schema | Every event and resource is valid by the API's types and by what Open Responses requires.
`

const stream = `
RESP-STRM-01 | openai open sixerr | streaming | created and in_progress come first, a terminal event last.
RESP-STRM-02 | openai open sixerr | streaming | Items are added, grow and are done; ids are the same throughout.
RESP-STRM-03 | openai open sixerr | streaming | Deltas add up to the done event, to the item, and to the final response.
RESP-STRM-04 | openai open | streaming | sequence_number strictly increases.
RESP-STRM-05 | sixerr | streaming | data: [DONE] follows the last event.
RESP-STRM-06 | openai sixerr | streaming | The arguments events carry item_id and call_id, the done event name too.
RESP-STRM-07 | openai | streaming | Custom calls stream their input.
RESP-STRM-08 | ours | streaming | A model that starts over repeats nothing; one that then says something else fails the response.
RESP-STRM-09 | ours | streaming | Without a stream the answer is the fold of the same events.
RESP-STRM-10 | openai | streaming | The event line is the type, and no data can break out of its line.
RESP-STRM-11 | openai | streaming | A client that goes away cancels a response that it did not ask to store.
RESP-STRM-12 | openai | refusal | A refusal is streamed with the events of its own.
`

const state = `
RESP-STOR-01 | openai | store | A response is kept unless store is false.
RESP-STOR-02 | openai | store | A stored response can be retrieved, also after a restart.
RESP-STOR-03 | openai | previous_response_id | The newest response of a session is continued in the same session.
RESP-STOR-04 | openai | previous_response_id | An older one is continued in a session of its own, with the history up to there.
RESP-STOR-05 | openai | previous_response_id | An unknown one is 400, an unfinished one 409.
RESP-STOR-06 | openai | previous_response_id | Open calls must all be answered: the same errors as for a whole conversation.
RESP-STOR-07 | openai | previous_response_id | instructions and tools count for their request alone.
RESP-STOR-08 | openai | GET stream | A stored response can be streamed, from the start or after an event's number, without gap or repeat.
RESP-STOR-09 | openai | background | A background response is answered at once and goes on by itself.
RESP-STOR-10 | openai | cancel | Cancelling ends a response; one that has ended is given as it is.
RESP-STOR-11 | openai | delete | A deleted response is 404; with its last response the session goes.
RESP-STOR-12 | openai | input_items | The input items of a response are listed, in pages.
RESP-STOR-13 | ours | owner | A response is there for its owner alone; to everyone else it is 404.
RESP-STOR-14 | openai | conversation | conversation takes a session's id, and excludes previous_response_id.
RESP-STOR-15 | ours | one session | A session started on another wire is continued here and read back there.
RESP-STOR-16 | ours | idempotency | The same Idempotency-Key and body give the same response, which runs once.
RESP-STOR-17 | ours | stored | A client that goes away does not end a stored response.
RESP-STOR-18 | ours | stored | A call whose arguments do not fit is settled by the runtime, and not shown.
RESP-STOR-19 | openai | background | background with store false is 400.
RESP-STOR-20 | ours | store | A request that repeats a stored conversation continues its session; a changed conversation gets one of its own.
`

const hosted = `
RESP-HOST-01 | ours | server tools | Where the operator allows it, an agent's own tools run in stored responses, shown as mcp_call.
RESP-HOST-02 | ours | server tools | A tool that asks first is shown as mcp_approval_request; mcp_approval_response decides.
RESP-HOST-03 | ours | server tools | A denial is shown as a failed mcp_call, and the model goes on.
RESP-HOST-04 | ours | server tools | Without the operator's word no server tool is offered, hidden ones included.
RESP-HOST-05 | ours | server tools | An approval that nobody asked for is 400.
`

const rest = `
RESP-ERR-01 | openai sixerr | errors | An error body has message, type, param and code.
RESP-ERR-02 | openai | errors | A body that is no JSON, no object, too deep or repeats a key is 400.
RESP-ERR-03 | ours | errors | A body above the limit is 413, a compressed one 415.
RESP-ERR-04 | ours | errors | What fails inside is told in general words.
RESP-ERR-05 | openai | errors | A path that does not exist is 404 with an error object.
RESP-MODL-01 | openai | models | The list of models holds agents and configured models.
RESP-MODL-02 | openai | models | One of them can be retrieved; an unknown one is 404.
RESP-SDK-01 | openai | clients | The official SDK works: create, stream, parse, models, errors.
RESP-SDK-02 | openai | clients | The official SDK works: background, retrieve, cancel, delete, input items, previous_response_id.
RESP-SDK-03 | open | clients | The AI SDK works with both of its providers.
RESP-SDK-04 | openai | clients | The OpenAI Agents SDK works.
RESP-WS-01 | open | websocket | response.create over a WebSocket gives the events of the stream; previous_response_id continues.
RESP-WS-02 | open | websocket | One response at a time, in the order of the requests; each numbers its events anew, and stream_id is repeated.
RESP-WS-03 | open | websocket | A response that is not stored can be continued on its connection, and nowhere else.
RESP-WS-04 | open | websocket | A continuation that fails evicts the response that it named; a stored one stays.
RESP-WS-05 | openai | websocket | generate false asks nothing of the model, and its response can be continued.
RESP-WS-06 | open | websocket | A refusal is one error event with status, code and message, and the socket stays open.
RESP-WS-07 | openai | websocket | The key is checked before the upgrade.
RESP-WS-08 | openai | websocket | A connection that reaches its time limit says so, and closes.
RESP-CONV-01 | openai | conversations | A conversation is made, read, changed and deleted; to others, and once deleted, it is 404.
RESP-CONV-02 | openai | conversations | Items are added, listed in pages, read and deleted, and keep their ids.
RESP-CONV-03 | openai | conversations | A response in a conversation reads its items, and its input and output are added.
RESP-CONV-04 | openai | conversations | A second response at the same time is 400 conversation_locked.
RESP-CONV-05 | openai | clients | The Agents SDK keeps its sessions in conversations.
RESP-CONV-06 | open | compact | responses/compact gives the user's messages and a sealed summary, which are sent back in place of the conversation.
RESP-CONV-07 | openai | input_tokens | responses/input_tokens counts, and neither asks a model nor keeps anything.
RESP-CODX-01 | openai | codex | A task of Codex runs with every model protocol: parallel calls, a patch with its grammar, resumption.
RESP-CODX-02 | openai | codex | Codex compacts its conversation with every model protocol, by a message and by a trigger.
RESP-CODX-03 | openai | codex | What Codex declares is taken: namespaces, additional_tools, tool_search, web_search, fields of its own.
`

export default {
  protocol: 'Responses API',
  prefix: 'RESP',
  clauses: [request, items, tools, resource, stream, state, hosted, rest].flatMap(clausesOf),
} satisfies Manifest
