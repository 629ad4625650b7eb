// The Agent Application Protocol, versions 1 to 3, clause by clause, in our own words. `ours` marks what we add, or what
// we decide where the protocol is silent; docs/protocols/aap.md explains each of these.
import { clausesOf, type Manifest } from './manifest.ts'

const meta = `
AAP-META-01 | 1 2 3 | endpoints, meta | GET /meta answers 200 with JSON: version and agents.
AAP-META-02 | 1 2 3 | endpoints, meta | version is the one that the base URL serves; at the root it is 3.
AAP-META-03 | 1 2 3 | schema, AgentInfo | An agent has name and version, and title and description when it has any.
AAP-META-04 | 3 | schema, ToolSpec | A listed tool has name, description and its JSON Schema in parameters; title when it has one.
AAP-META-05 | 1 2 | schema, ToolSpec | A listed tool has its JSON Schema in inputSchema.
AAP-META-06 | 1 2 3 | tools, unexposed | Server tools that are not exposed are not listed.
AAP-META-07 | 1 2 3 | schema, AgentOption | A text option has name, type, default, and title and description when it has any.
AAP-META-08 | 1 2 3 | schema, AgentOption | A select option lists its values.
AAP-META-09 | 1 2 3 | schema, AgentOption | The default of a secret option is a string and never the secret.
AAP-META-10 | 1 2 3 | schema, AgentCapabilities | Capabilities are empty objects; what is missing is unsupported.
AAP-META-11 | 1 2 3 | schema, AgentCapabilities | history.full is declared only by an agent that serves it.
AAP-META-12 | 1 2 3 | schema, AgentCapabilities | stream declares delta, message and none.
AAP-META-13 | 1 2 3 | schema, AgentCapabilities | application.tools is declared only by an agent that takes client tools.
AAP-META-14 | 1 2 3 | schema, AgentCapabilities | image.http and image.data are declared as the agent takes them.
AAP-META-15 | 1 2 3 | overview | One server may have several agents, or none.
`

const sessions = `
AAP-SESS-01 | 3 | endpoints, POST /sessions | Creation answers 201 with sessionId and nothing else.
AAP-SESS-02 | 3 | endpoints, POST /sessions | Creation does not run the agent.
AAP-SESS-03 | 1 2 3 | ours | A missing or unknown agent name is refused with 400.
AAP-SESS-04 | 1 2 3 | schema, AgentConfig | agent.tools left out: every exposed server tool is off.
AAP-SESS-05 | 1 2 3 | schema, AgentConfig | Of the exposed server tools only those named are offered to the model.
AAP-SESS-06 | 1 2 3 | schema, ServerToolRef | trust is false when it is left out.
AAP-SESS-07 | 1 2 3 | schema, AgentConfig | An option that is left out has its declared default.
AAP-SESS-08 | 1 2 3 | schema, AgentOption | Option values are strings, of a select one of its list; unknown options are refused.
AAP-SESS-09 | 1 2 3 | endpoints, POST /sessions | messages are the beginning of the history: system, user, assistant and tool.
AAP-SESS-10 | 3 | endpoints, POST /sessions | The last seeded message may have any role; calls left open by the seed are settled as abandoned.
AAP-SESS-11 | 1 2 3 | endpoints, POST /sessions | Client tools are kept for the session and offered to the model.
AAP-SESS-12 | 1 2 3 | tools | A client tool may not have the name of a server tool, nor of another client tool: 400.
AAP-SESS-13 | 1 2 3 | schema, AgentCapabilities | Client tools are refused by an agent that does not take them.
AAP-SESS-14 | 2 3 | endpoints, GET session | A session shows its id, its agent with tools and options, and its client tools.
AAP-SESS-15 | 1 2 3 | endpoints, GET session | The value of a secret option is never shown: "***" stands for it.
AAP-SESS-16 | 1 2 3 | SDK | tools is left out of a session that has no client tools.
AAP-SESS-17 | 3 | endpoints, GET session | A session does not show its history.
AAP-SESS-18 | 1 2 3 | endpoints, GET session | An unknown session is 404.
AAP-SESS-19 | 1 2 3 | endpoints, DELETE session | Deletion answers 204 with no body, and then the session is unknown.
AAP-SESS-20 | 1 2 3 | endpoints, DELETE session | Deleting an unknown session is 404.
AAP-SESS-21 | 2 3 | endpoints, GET /sessions | The list holds whole session objects.
AAP-SESS-22 | 1 2 3 | endpoints, GET /sessions | next is the cursor of the page that follows; the last page has none.
AAP-SESS-23 | 2 3 | SDK | Secrets are masked in the list too.
AAP-SESS-24 | 1 2 3 | ours | A cursor that this server did not give to this owner is refused with 400.
AAP-SESS-25 | 1 2 3 | overview | A session belongs to one agent for life.
AAP-SESS-26 | 1 2 3 | messages | A permission is no part of a history: a seed with one is refused.
AAP-SESS-27 | 1 2 3 | ours | A secret is sealed before it reaches the log; tools and models get its value.
AAP-SESS-28 | 1 2 3 | ours | "***" sent for a secret leaves it as it is.
AAP-SESS-29 | 1 2 3 | ours | A seed whose results do not belong to its calls is refused.
`

const turns = `
AAP-TURN-01 | 1 2 3 | endpoints, turns | A turn in an unknown session is 404.
AAP-TURN-02 | 1 2 3 | endpoints, turns | A turn takes one user message.
AAP-TURN-03 | 1 2 3 | endpoints, turns | A turn takes any mix of results and permissions.
AAP-TURN-04 | 1 2 3 | ours | Every other set of messages is refused with 400 and words that say what to send.
AAP-TURN-05 | 1 2 3 | endpoints, turns | stream is none when it is left out.
AAP-TURN-06 | 1 2 3 | ours | An unknown stream mode is refused with 400.
AAP-TURN-07 | 1 2 3 | endpoints, turns | agent.tools of a turn replaces the list and stays.
AAP-TURN-08 | 1 2 3 | endpoints, turns | agent.options of a turn is merged by key and stays.
AAP-TURN-09 | 1 2 3 | endpoints, turns | tools of a turn replaces the client tools and stays.
AAP-TURN-10 | 1 2 3 | endpoints, turns | What a turn overrides holds for that turn already.
AAP-TURN-11 | 1 2 3 | endpoints, turns | The agent of a session cannot be changed by a turn.
AAP-TURN-12 | 1 2 3 | ours | A turn that is refused leaves no trace, its overrides included.
AAP-TURN-13 | 1 2 3 | ours | A turn while one runs is refused with 409.
AAP-TURN-14 | 1 2 3 | messages | User content is a string or a list of blocks.
AAP-TURN-15 | 1 2 3 | schema, AgentCapabilities | https images are taken by an agent that declares image.http, else refused.
AAP-TURN-16 | 1 2 3 | schema, AgentCapabilities | data: images are taken by an agent that declares image.data, else refused.
AAP-TURN-17 | 1 2 3 | ours | An empty user message is refused.
AAP-TURN-18 | 1 2 3 | ours | A client that goes away does not end the turn.
AAP-TURN-19 | 1 2 3 | ours | A user message while calls wait settles these calls as abandoned.
AAP-TURN-20 | 3 | ours | The root serves what /aap/v3 serves.
AAP-TURN-21 | 1 2 3 | ours | stream left out, and Accept prefers text/event-stream: the answer is a stream, as with message.
`

const modes = `
AAP-MODE-01 | 1 2 3 | response, none | none answers JSON with stopReason and messages.
AAP-MODE-02 | 1 2 3 | response, none | messages holds all that the turn made, in order: calls, results of server tools, the final answer.
AAP-MODE-03 | 1 2 3 | response, stream | delta and message answer with text/event-stream.
AAP-MODE-04 | 1 2 3 | response, stream | An event is a name line and one line of JSON that does not repeat the name; no ids, no retry.
AAP-MODE-05 | 1 2 3 | response, stream | turn_start with an empty object comes first.
AAP-MODE-06 | 1 2 3 | response, delta | text_delta carries pieces of text.
AAP-MODE-07 | 1 2 3 | response, delta | thinking_delta carries pieces of thinking.
AAP-MODE-08 | 1 2 3 | response, message | text carries a complete text; there may be several.
AAP-MODE-09 | 1 2 3 | response, message | thinking carries a complete thought.
AAP-MODE-10 | 1 2 3 | response, stream | tool_call carries id, name and the whole input, in both modes.
AAP-MODE-11 | 1 2 3 | response, stream | tool_result follows its call and carries id and content, in both modes.
AAP-MODE-12 | 1 2 3 | response, stream | turn_stop comes once and last.
AAP-MODE-13 | 1 2 3 | response, stream | The connection closes after turn_stop.
AAP-MODE-14 | 1 2 3 | response, stream | Within a step: thinking, text, calls, results.
AAP-MODE-15 | 1 2 3 | ours | A model that gives no pieces is shown in delta mode as one piece per text.
AAP-MODE-16 | 1 2 3 | ours | When a model step starts over, delta mode repeats nothing and ends with the whole answer.
AAP-MODE-17 | 1 2 3 | response | The three modes say the same of the same turn.
AAP-MODE-18 | 1 2 3 | response, stream | Several calls may come before one stop.
AAP-MODE-19 | 1 2 3 | response, stream | Pieces are for delta mode only, whole texts for message mode only.
AAP-MODE-20 | 1 2 3 | response, stream | The arguments of a call are never streamed in pieces.
AAP-STOP-01 | 1 2 3 | response, StopReason | end_turn: the model has answered.
AAP-STOP-02 | 1 2 3 | response, StopReason | tool_use: the client must act.
AAP-STOP-03 | 1 2 3 | response, StopReason | max_tokens: the model ran into its length limit.
AAP-STOP-04 | 1 2 3 | ours | max_tokens: a limit of the runtime ended the turn.
AAP-STOP-05 | 1 2 3 | response, StopReason | refusal: the model refused.
AAP-STOP-06 | 1 2 3 | ours | refusal: the provider's filter ended the answer.
AAP-STOP-07 | 1 2 3 | response, StopReason | error: the model failed, also in mid-stream; exactly one turn_stop.
AAP-STOP-08 | 1 2 3 | ours | error: the store failed in mid-turn; exactly one turn_stop.
AAP-STOP-09 | 1 2 3 | ours | end_turn: the turn was cancelled.
AAP-STOP-10 | 1 2 3 | ours | A stop says more where there is more: error and code with error, limit with a limit of the runtime.
AAP-STOP-11 | 1 2 3 | ours | error with the code stopping: the server stops, and the turn goes on at its next start.
`

const calls = `
AAP-CALL-01 | 1 2 3 | tools, trust | A trusted server tool runs inline, and the turn goes on with its result.
AAP-CALL-02 | 1 2 3 | tools, trust | An untrusted server tool does not run: the turn stops with tool_use.
AAP-CALL-03 | 1 2 3 | tools, client | A client tool is not run by the server: the turn stops with tool_use.
AAP-CALL-04 | 1 2 3 | tools, parallel | In a mixed batch the trusted ones run, then the turn stops for the rest.
AAP-CALL-05 | 1 2 3 | tools, permission | A granted call runs in the follow-up turn, which shows its result.
AAP-CALL-06 | 1 2 3 | tools, permission | The result of a granted call stands in the history.
AAP-CALL-07 | 3 | tools, permission | A denial is recorded as "Tool call denied".
AAP-CALL-08 | 3 | tools, permission | A denial with a reason is recorded as "Tool call denied: <reason>".
AAP-CALL-09 | 1 2 3 | ours | The follow-up turn shows the result of a denied call too.
AAP-CALL-10 | 3 | messages | Permissions are never part of the history.
AAP-CALL-11 | 1 2 3 | tools, client | A client's result is recorded and read by the model, and not sent back to the client.
AAP-CALL-12 | 1 2 3 | ours | A partial submission is taken; the turn stops again for the rest.
AAP-CALL-13 | 1 2 3 | ours | An unknown call id refuses the whole request.
AAP-CALL-14 | 1 2 3 | ours | A request that answers one call twice is refused whole.
AAP-CALL-15 | 1 2 3 | ours | A call that has its answer takes no other: 409.
AAP-CALL-16 | 1 2 3 | ours | A result for the server's call, or a permission for the client's, is refused with 409.
AAP-CALL-17 | 1 2 3 | tools, unexposed | Unexposed tools run as the operator says; their calls and results are shown.
AAP-CALL-18 | 1 2 3 | ours | The input of a free-text call is shown as an object with the member input.
AAP-CALL-19 | 1 2 3 | ours | Arguments that cannot be read are shown; the call is not run and its result says why.
AAP-CALL-20 | 1 2 3 | ours | A call of a tool that was not offered gets a result that says so.
AAP-CALL-21 | 1 2 3 | messages | A tool's failure is plain text in its result.
AAP-CALL-22 | 1 2 3 | ours | A client call whose arguments do not fit is settled with a result: the client need not run it.
AAP-CALL-23 | 1 2 3 | messages | A result of more than one text is a list of blocks.
AAP-CALL-24 | 1 2 3 | tools, permission | After a denial the turn goes on.
AAP-CALL-25 | 1 2 3 | tools, parallel | The model reads results in the order in which it asked.
AAP-CALL-26 | 1 2 3 | messages | granted is true or false and nothing else.
AAP-CALL-27 | 1 2 3 | messages | A client's result is a string or a list of blocks.
AAP-CALL-28 | 3 | ours | A grant may carry changed arguments in input: the call runs with them, and the model is told.
AAP-CALL-29 | 3 | ours | Changed arguments that do not fit, or that come with a denial, are refused.
AAP-CALL-30 | 1 2 3 | tools | A call is addressed by its toolCallId alone, the same in stream, history and follow-up.
AAP-CALL-31 | 1 2 3 | ours | asks says of each call that waits for a permission why it is asked about, and until when, if there is a rule that says so.
AAP-CALL-32 | 1 2 3 | ours | Calls that programs and other agents make and that wait are shown as calls; what made them is shown with its result, or when it needs an answer itself.
AAP-CALL-33 | 1 2 3 | ours | A permission for a call that is at work is left out beside other answers; alone it is refused, and the refusal names the calls that wait.
AAP-CALL-34 | 1 2 3 | ours | A call that asks a question takes a permission too: a denial declines the question, a grant accepts it.
`

const history = `
AAP-HIST-01 | 2 3 | endpoints, history | type=full gives all that was said, exactly.
AAP-HIST-02 | 2 3 | endpoints, history | type=compacted gives what the model goes on from.
AAP-HIST-03 | 2 3 | endpoints, history | The answer holds the kind that was asked for and no other.
AAP-HIST-04 | 2 3 | SDK | A missing or other type is 400: type must be "compacted" or "full".
AAP-HIST-05 | 2 3 | endpoints, history | A kind that the agent does not declare is 404.
AAP-HIST-06 | 2 3 | endpoints, history | An unknown session is 404.
AAP-HIST-07 | 1 2 3 | resumption | A history may end with calls that have no result yet.
AAP-HIST-08 | 1 2 3 | ours | The results that a waiting batch has so far stand in the history.
AAP-HIST-09 | 1 2 3 | endpoints, history | In full, results are whole even where the model was shown a part.
AAP-HIST-10 | 1 2 3 | endpoints, history | In compacted, results are what the model was shown.
AAP-HIST-11 | 1 2 3 | messages | History messages have the roles system, user, assistant and tool, and the shapes of the schema.
AAP-HIST-12 | 1 2 3 | ours | While calls of programs and other agents wait, the last assistant message of the history has them.
AAP-HIST-13 | 1 2 3 | ours | A call that is at work has a tool message that says so: it needs nothing from the client.
AAP-RESU-01 | 3 | resumption | A client without memory goes on from meta, session and full history.
AAP-RESU-02 | 3 | resumption | It can do so from the compacted history too.
AAP-RESU-03 | 3 | ours | It can do so after the server was restarted.
AAP-RESU-04 | 3 | resumption | The session's tools tell it which open calls are its own.
AAP-RESU-05 | 3 | ours | A client that lost its stream finds the finished turn in the history.
`

const ours = `
AAP-ERR-01 | 1 2 3 | SDK | An error body is JSON with error as text; we add code.
AAP-ERR-02 | 1 2 3 | ours | A body that is not JSON is 400.
AAP-ERR-03 | 1 2 3 | ours | A body that is not an object is 400.
AAP-ERR-04 | 1 2 3 | ours | A body above the limit is 413, also when it does not say its size.
AAP-ERR-05 | 1 2 3 | ours | A compressed body is 415.
AAP-ERR-06 | 1 2 3 | SDK | The words of a 404 are "Session not found" and "Specified history not found".
AAP-ERR-07 | 1 2 3 | ours | What fails inside the server is told in general words; its own words stay in the log.
AAP-ERR-08 | 1 2 3 | ours | A path that does not exist under a version is a JSON 404.
AAP-ERR-09 | 1 2 3 | ours | JSON that nests too deep or repeats a key is 400.
AAP-AUTH-01 | 1 2 3 | authentication | A session is there for its owner alone; to everyone else it is 404.
AAP-IDEM-01 | 3 | ours | Creation with the same Idempotency-Key and body gives the same session.
AAP-IDEM-02 | 3 | ours | Creation with the same key and another body is 409.
AAP-IDEM-03 | 1 2 3 | ours | A turn with the same key and body is answered the same and runs once.
AAP-IDEM-04 | 1 2 3 | ours | The same holds for streams.
AAP-IDEM-05 | 1 2 3 | ours | While the first is still running the second attaches to it.
AAP-IDEM-06 | 1 2 3 | ours | A turn with the same key and another body is 409.
AAP-IDEM-07 | 1 2 3 | ours | A malformed key is 400.
AAP-IDEM-08 | 1 2 3 | ours | Keys survive a restart.
AAP-IDEM-09 | 1 2 3 | ours | Keys are of one owner and, for turns, of one session.
AAP-IDEM-10 | 1 2 | ours | The first turn of versions 1 and 2 is repeatable as creation is.
AAP-EXT-01 | 3 | ours | GET /sessions/:id/events streams each durable event with its number as id and its type as event.
AAP-EXT-02 | 3 | ours | Last-Event-ID continues after that event, without gaps or repeats.
AAP-EXT-03 | 3 | ours | ?after= does the same.
AAP-EXT-04 | 3 | ours | An id that is no number of an event of the session is 400.
AAP-EXT-05 | 3 | ours | What is live only carries no id.
AAP-EXT-06 | 3 | ours | POST /sessions/:id/cancel ends the running turn: 204.
AAP-EXT-07 | 3 | ours | Cancelling where nothing runs is 204 as well.
AAP-EXT-08 | 3 | ours | GET /sessions/:id/results/:callId gives a result whole.
AAP-EXT-09 | 3 | ours | The result of an unknown call is 404.
AAP-EXT-11 | 3 | ours | GET and PUT /sessions/:id/model give the configured models and choose one of them; another name is refused.
AAP-EXT-10 | 3 | ours | Secrets are masked in events.
`

const older = `
AAP-OLD-01 | 1 2 | endpoints, PUT /session | PUT /session creates a session and runs its first turn: 201 with sessionId, stopReason and messages.
AAP-OLD-02 | 1 2 | endpoints, PUT /session | As a stream it begins with session_start, then turn_start.
AAP-OLD-03 | 1 2 | endpoints, PUT /session | messages is required and ends with a user message: 400 Last message must be a user message.
AAP-OLD-04 | 1 2 | endpoints, POST /session/:id | POST /session/:id runs later turns, with no session_start.
AAP-OLD-05 | 1 2 | schema, ToolSpec | Client tools are declared with inputSchema.
AAP-OLD-06 | 1 2 | schema, ToolSpec | Client tools are shown with inputSchema.
AAP-OLD-07 | 1 | endpoints, GET /sessions | The list holds ids only.
AAP-OLD-08 | 2 | endpoints, GET /sessions | The list holds session objects.
AAP-OLD-09 | 1 | endpoints, GET /session/:id | ?history= adds the history of that kind.
AAP-OLD-10 | 1 | tools, resumption | A bare GET adds every kind of history that the agent declares.
AAP-OLD-11 | 2 | endpoints, GET /session/:id | The session is shown without history.
AAP-OLD-12 | 2 | endpoints, history | GET /session/:id/history gives the kind asked for in type.
AAP-OLD-13 | 1 2 | endpoints, DELETE | DELETE /session/:id is 204.
AAP-OLD-14 | 1 2 | endpoints, PUT /session | What stands before the last user message is seeded history.
AAP-OLD-15 | 1 | ours | The root serves PUT /session and POST, GET and DELETE /session/:id as version 1 has them.
AAP-OLD-16 | 1 2 | endpoints, meta | /meta says the version of its base URL.
AAP-OLD-17 | 1 | ours | A kind of history that is not declared is 404, an unknown one 400.
AAP-OLD-18 | 1 2 3 | ours | A session made in one version can be used in every other.
AAP-OLD-19 | 1 2 3 | ours | A version does not serve the paths of another.
AAP-OLD-20 | 1 2 | ours | An unknown session is 404 on every path.
`

export default {
  protocol: 'Agent Application Protocol',
  prefix: 'AAP',
  clauses: [meta, sessions, turns, modes, calls, history, ours, older].flatMap(clausesOf),
} satisfies Manifest
