// The Agent Client Protocol, version 1 and what is served of the draft of version 2, clause by clause, in our own words.
// `ours` marks what we add, or decide where the protocol is silent; docs/protocols/acp.md explains these.
import { clausesOf, type Manifest } from './manifest.ts'

const base = `
ACP-BASE-01 | 1 | stdio | A message is one line of UTF-8 JSON; nothing else is written to standard output.
ACP-BASE-02 | 1 | errors | A line that is not JSON is answered with -32700 and id null.
ACP-BASE-03 | 1 | errors | A message that is neither request, response nor notification is answered with -32600.
ACP-BASE-04 | 1 | errors | A batch is answered with one -32600 and id null.
ACP-BASE-05 | 1 | errors | An unknown request is answered with -32601.
ACP-BASE-06 | 1 | errors | An unknown notification is ignored.
ACP-BASE-07 | 1 | errors | Missing or wrong required parameters are answered with -32602.
ACP-BASE-08 | 1 | ours | A line that is too long is answered with -32600 and skipped; the session goes on.
ACP-BASE-09 | 1 | schema | Every frame that the agent sends is valid by the protocol's own schema.
ACP-BASE-10 | 1 | extensibility | An unknown custom request is -32601, an unknown custom notification is ignored.
ACP-BASE-11 | 1 | ours | An internal failure tells the client nothing of its cause.
ACP-BASE-12 | 1 | stdio | The agent ends when its input ends; blank lines are skipped.
`

const setup = `
ACP-INIT-01 | 1 | initialization | The version asked for is answered if it is 1.
ACP-INIT-02 | 1 | initialization | Another version is answered with 1, the latest that is served.
ACP-INIT-03 | 1 | initialization | Capabilities say what is served and nothing else; agentInfo names the agent.
ACP-INIT-04 | 1 | initialization | Before initialize every other request is refused with -32600.
ACP-INIT-05 | 1 | initialization | What a client does not mention is not used: no files, terminals, notices, elicitation.
ACP-AUTH-01 | 1 | authentication | Without a need for keys there are no methods, and sessions can be made at once.
ACP-AUTH-02 | 1 | authentication | A missing required secret: a method says what to do, and sessions are refused with -32000.
ACP-AUTH-03 | 1 | authentication | authenticate succeeds when the secret is there, and refuses an unknown method with -32602.
ACP-AUTH-04 | 1 | ours | A secret from the environment is sealed into the session and given to tools; no frame shows it.
ACP-SESS-01 | 1 | session setup | session/new answers with a session id; cwd must be absolute.
ACP-SESS-02 | 1 | session setup | session/load replays the whole conversation as updates, then answers.
ACP-SESS-03 | 1 | session setup | What is replayed says the same as what was shown live.
ACP-SESS-04 | 1 | session setup | session/resume replays nothing and the session goes on.
ACP-SESS-05 | 1 | session setup | An unknown session is -32002 with its id in data.
ACP-SESS-06 | 1 | ours | Load and resume with a foreign cwd are refused with -32602.
ACP-SESS-07 | 1 | session list | session/list gives id, cwd, title and time, newest first, filtered by cwd.
ACP-SESS-08 | 1 | session list | A list goes on by cursor; a bad cursor is an error; an empty list is an empty array.
ACP-SESS-09 | 1 | session close | session/close cancels, waits until the turn has stopped, and frees the session.
ACP-SESS-10 | 1 | session delete | session/delete removes the session; an unknown one is deleted in silence.
ACP-SESS-11 | 1 | ours | A session of another wire is loaded, shown and continued; its folder is any.
ACP-SESS-12 | 1 | ours | A client that disconnects cancels nothing: approvals wait, and the next client is asked.
ACP-SESS-13 | 1 | ours | Another owner's session, or another agent's, is unknown.
ACP-SESS-14 | 1 | session info | A session is named after what was first said, and its time is told after each turn.
`

const turns = `
ACP-PROM-01 | 1 | prompt turn | A prompt is answered when the turn is over, with its stop reason, after all updates.
ACP-PROM-02 | 1 | content | Text, links, images and embedded resources are taken; links are not fetched.
ACP-PROM-03 | 1 | content | What was not advertised (audio, images of an agent without them) is refused with -32602.
ACP-PROM-04 | 1 | ours | An empty prompt is refused with -32602.
ACP-PROM-05 | 1 | ours | A second prompt while one is answered is refused with -32600 and changes nothing.
ACP-PROM-06 | 1 | prompt turn | Stop reasons: end_turn, max_tokens, max_turn_requests, refusal, cancelled.
ACP-PROM-07 | 1 | prompt turn | A model that fails makes the prompt fail with -32603 and words; the session goes on.
ACP-PROM-08 | 1 | prompt turn | Chunks of one message share its messageId; another message has another.
ACP-PROM-09 | 1 | ours | A step that starts over continues under another messageId, and its half-made calls fail.
ACP-PROM-10 | 1 | updates | Thoughts come as agent_thought_chunk.
ACP-PROM-11 | 1 | updates | usage_update tells tokens and size when the size is known.
ACP-PROM-12 | 1 | updates | Notices and compactions only to clients that take them.
ACP-PROM-13 | 1 | plan | A plan is sent whole each time, and the call that made it is not shown.
ACP-PROM-14 | 1 | ours | What happens on another wire is shown here too, user messages included.
ACP-CANC-01 | 1 | prompt turn, cancellation | session/cancel is a notification; the prompt is answered with cancelled, never an error.
ACP-CANC-02 | 1 | prompt turn, cancellation | Open permissions are settled; the client's own answers to them are accepted.
ACP-CANC-03 | 1 | ours | A cancel that comes late, or twice, does not touch the next prompt.
ACP-CANC-04 | 1 | ours | A cancel right behind its prompt cancels it.
ACP-CANC-05 | 1 | cancellation | $/cancel_request for a prompt ends it, and it is answered.
ACP-CANC-06 | 1 | ours | A cancel with nothing to cancel, or for an unknown session, does nothing.
`

const tools = `
ACP-TOOL-01 | 1 | tool calls | A call is announced as pending when the model begins to ask, with name, title and kind.
ACP-TOOL-02 | 1 | tool calls | rawInput and locations follow when the arguments are whole; paths are absolute.
ACP-TOOL-03 | 1 | tool calls | in_progress, then completed or failed, with content and rawOutput.
ACP-TOOL-04 | 1 | tool calls | An edit is shown as a diff with old and new text.
ACP-TOOL-05 | 1 | tool calls | Updates hold only what changed, and calls in one turn are told apart by their ids.
ACP-TOOL-07 | 1 | tool calls | What a call would change is shown while permission is asked: several files, absolute paths.
ACP-TOOL-08 | 1 | tool calls | Any tool reports files while it runs and differences with its result; a loaded session shows them.
ACP-TOOL-06 | 1 | ours | Names and titles cannot smuggle control characters into the client.
ACP-PERM-01 | 1 | permission | A call that asks is put to the client with what it would do; allow_once runs it.
ACP-PERM-02 | 1 | permission | reject_once denies it, and the others of the batch go on.
ACP-PERM-03 | 1 | permission | allow_always is a grant of this session for this definition, and says so.
ACP-PERM-04 | 1 | permission | reject_always is a remembered refusal, and says so; both survive a restart.
ACP-PERM-05 | 1 | permission | Each call that asks has a request of its own, all open at once.
ACP-PERM-06 | 1 | permission | An outcome that is none of the options is no approval.
ACP-PERM-07 | 1 | permission | cancelled as an outcome cancels the turn.
ACP-PERM-08 | 1 | ours | A decision made elsewhere withdraws the request; a late answer changes nothing.
ACP-PERM-09 | 1 | ours | A client that answers with an error has not approved.
ACP-PERM-10 | 1 | ours | Where the operator allows it, allow_always is also offered for all sessions of the agent, of the same owner, for this definition.
ACP-FILE-01 | 1 | file system | With fs.readTextFile the model can read through the client, unsaved changes included.
ACP-FILE-02 | 1 | file system | With fs.writeTextFile the model can write, once approved; the approver sees the difference.
ACP-FILE-03 | 1 | ours | Paths outside of cwd and additionalDirectories are refused before the client is asked.
ACP-TERM-01 | 1 | terminals | A command runs in a terminal of the client, which is attached to the call before it is released.
ACP-TERM-02 | 1 | terminals | A terminal is always released: after its end, a failure, a cancellation, a time limit.
ACP-TERM-03 | 1 | terminals | A cancellation or a time limit kills the command first.
ACP-TERM-04 | 1 | ours | Output of a terminal of the runtime is shown live: as a terminal where the client shows such, else as text.
ACP-MCPS-01 | 1 | session setup | MCP servers of the client are connected and their tools offered, apart by name.
ACP-MCPS-02 | 1 | ours | If a server cannot be reached, only its tools are missing, and the client is told.
ACP-MCPS-03 | 1 | session setup | sse servers, relative commands and servers over a network are refused with -32602.
ACP-ELIC-01 | 1 | elicitation | A question of an MCP server reaches a client that takes forms, with session and call.
ACP-ELIC-02 | 1 | elicitation | Anything but accept is no acceptance.
`

const choices = `
ACP-CONF-01 | 1 | config options | Select and text options are config options with a value each; secrets never are.
ACP-CONF-02 | 1 | config options | Setting one answers with all of them, and holds for the next turn.
ACP-CONF-03 | 1 | config options | An unknown option or value is -32602 and changes nothing.
ACP-CONF-04 | 1 | modes | An option of the category mode is a mode too, and both are kept in step.
ACP-CONF-05 | 1 | ours | Named models are an option of the category model.
ACP-COMM-01 | 1 | slash commands | Commands are listed after a session is opened, and answered without the model.
ACP-COMM-02 | 1 | slash commands | A word after a slash that is no command goes to the model.
ACP-COMM-03 | 1 | ours | /grants and /forget list and revoke remembered decisions.
`

const draft = `
ACP-DRAF-01 | 2 | ours | Version 2 is spoken only behind its flag; without it a client that asks for 2 gets 1.
ACP-DRAF-02 | 2 | negotiation | With the flag, 2 is answered with 2 and 1 with 1.
ACP-DRAF-03 | 2 | prompt lifecycle | A prompt is answered with its messageId once it is inserted; state and echo follow.
ACP-DRAF-04 | 2 | permission | While a person is asked the state is requires_action; the request names its subject.
ACP-DRAF-05 | 2 | sessions | Resume with replayFrom replays and ends with a state; another cursor is -32602.
ACP-DRAF-06 | 2 | prompt lifecycle | A cancelled turn ends idle with cancelled, a failed one idle with error.
`

const http = `
ACP-HTTP-01 | 1 | transports | initialize over HTTP answers with a connection id; the rest comes on the streams.
ACP-HTTP-02 | 1 | transports | A WebSocket carries the same protocol.
ACP-HTTP-03 | 1 | ours | A connection belongs to the key that made it: for another it does not exist.
ACP-HTTP-04 | 1 | ours | It is served only if the configuration says so, and over it no MCP servers can be named.
ACP-HTTP-05 | 1 | ours | Host, origin and key are checked for a WebSocket as for any request.
`

const manifest: Manifest = {
  protocol: 'Agent Client Protocol',
  prefix: 'ACP',
  clauses: [base, setup, turns, tools, choices, draft, http].flatMap(clausesOf),
}

export default manifest
