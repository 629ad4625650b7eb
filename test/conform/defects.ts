// One defect for each clause of the suite: how the answers of a good server are changed so that this clause is broken. The changes are
// made by a proxy, on the bytes that the suite reads.

export type Spoiled = { status: number; headers: Record<string, string>; body: string }
export type Defect = (answer: Spoiled, path: string, method: string) => Spoiled

function swap(from: RegExp, to: string): Defect {
  return answer => ({ ...answer, body: answer.body.replace(from, to) })
}

function status(from: number, to: number): Defect {
  return answer => (answer.status === from ? { ...answer, status: to, body: answer.body || '{}' } : answer)
}

function header(name: string, value: string): Defect {
  return answer => ({ ...answer, headers: { ...answer.headers, [name]: value } })
}

/** On answers to requests of this path alone. */
function onPath(path: RegExp, defect: Defect): Defect {
  return (answer, at, method) => (path.test(at) ? defect(answer, at, method) : answer)
}

/** On answers to requests of this method alone. */
function onMethod(wanted: string, defect: Defect): Defect {
  return (answer, at, method) => (method === wanted ? defect(answer, at, method) : answer)
}

const word = /word-[0-9a-f]/g
const noWord = swap(word, 'wrong-')
const plain = header('content-type', 'text/plain')
/** Words of results, and not of the call, whose arguments the suite compares too. */
const noResult = swap(/(echo|sent): word/g, 'nothing')
const turns = /\/turns$/
const historyPath = /\/history/

const aap: Record<string, Defect> = {
  'AAP-META-01': swap(/"agents":/, '"agent":'),
  'AAP-META-02': swap(/"version":3/, '"version":2'),
  'AAP-META-03': swap(/"version":"1.0.0"/, '"version":""'),
  'AAP-META-04': swap(/"parameters":/, '"inputSchema":'),
  'AAP-META-10': swap(/"delta":\{\}/, '"delta":true'),
  'AAP-SESS-01': status(201, 200),
  'AAP-SESS-02': onPath(historyPath, swap(/"role":"user"/, '"role":"assistant"')),
  'AAP-SESS-09': onPath(historyPath, noWord),
  'AAP-SESS-14': swap(/"name":"read_clipboard"/, '"name":"other"'),
  'AAP-SESS-17': swap(/^\{"sessionId":"([^"]+)","agent"/, '{"history":{},"sessionId":"$1","agent"'),
  'AAP-SESS-18': status(404, 500),
  'AAP-SESS-19': onMethod('DELETE', status(204, 200)),
  'AAP-SESS-20': status(404, 204),
  'AAP-SESS-21': swap(/"sessions":\[\{"sessionId"/, '"sessions":[{"id"'),
  'AAP-TURN-01': status(404, 400),
  'AAP-TURN-05': onPath(turns, plain),
  'AAP-TURN-14': onPath(turns, status(200, 400)),
  'AAP-MODE-01': onPath(turns, swap(/"stopReason":/, '"stop":')),
  'AAP-MODE-02': swap(/"role":"tool"/, '"role":"user"'),
  'AAP-MODE-03': onPath(turns, plain),
  'AAP-MODE-04': onPath(turns, swap(/^event: /gm, 'id: 1\nevent: ')),
  'AAP-MODE-05': swap(/event: turn_start/, 'event: begin'),
  'AAP-MODE-06': swap(/event: text_delta/g, 'event: delta'),
  'AAP-MODE-08': onPath(turns, noWord),
  'AAP-MODE-10': swap(/"name":"echo",/, ''),
  'AAP-MODE-11': onPath(turns, noResult),
  'AAP-MODE-12': swap(/event: turn_stop/, 'event: text_delta\ndata: {}\n\nevent: stop'),
  'AAP-MODE-19': onPath(turns, swap(/event: text_delta/, 'event: text')),
  'AAP-STOP-01': swap(/"stopReason":"end_turn"/, '"stopReason":"stop"'),
  'AAP-STOP-02': swap(/"stopReason":"tool_use"/, '"stopReason":"end_turn"'),
  'AAP-CALL-01': onPath(turns, noResult),
  'AAP-CALL-02': swap(/"stopReason":"tool_use"/, '"stopReason":"end_turn"'),
  'AAP-CALL-03': swap(/"stopReason":"tool_use"/, '"stopReason":"end_turn"'),
  'AAP-CALL-05': noResult,
  'AAP-CALL-08': onPath(historyPath, swap(/Tool call denied: not today/, 'No.')),
  'AAP-CALL-10': onPath(historyPath, swap(/"role":"tool"/, '"role":"tool_permission"')),
  'AAP-CALL-11': swap(
    /"messages":\[\{"role":"assistant","content":"word/,
    '"messages":[{"role":"tool","content":"word',
  ),
  'AAP-CALL-21': onPath(turns, swap(/("role":"tool","toolCallId":"[^"]+","content":)"[^"]*"/, '$1""')),
  'AAP-HIST-01': onPath(historyPath, noWord),
  'AAP-HIST-03': onPath(historyPath, swap(/"compacted":/, '"full":[],"compacted":')),
  'AAP-HIST-04': status(400, 200),
  'AAP-HIST-06': status(404, 200),
  'AAP-HIST-07': onPath(historyPath, swap(/"type":"tool_use"/, '"type":"text"')),
  'AAP-ERR-01': swap(/"error":/, '"message":'),
}

const responses: Record<string, Defect> = {
  'RESP-REQ-03': swap(/model_not_found/, 'unknown'),
  'RESP-REQ-06': noWord,
  'RESP-REQ-09': swap(/"param":"max_output_tokens"/, '"param":null'),
  'RESP-ITEM-04': status(400, 200),
  'RESP-ITEM-05': status(400, 200),
  'RESP-ITEM-12': status(400, 200),
  'RESP-TOOL-07': status(400, 500),
  'RESP-TOOL-11': swap(/"status":"completed"/g, '"status":"incomplete"'),
  'RESP-TOOL-12': swap(/"text":"word-/g, '"text":"wrong-'),
  'RESP-RES-01': swap(/"created_at":/, '"created":'),
  'RESP-RES-04': swap(/"total_tokens":15/, '"total_tokens":16'),
  'RESP-ERR-01': swap(/"param":/, '"parameter":'),
  'RESP-ERR-02': status(400, 500),
  'RESP-MODL-01': swap(/"object":"model"/, '"object":"agent"'),
  'RESP-MODL-02': status(404, 200),
  'RESP-STRM-01': swap(/"type":"response.in_progress"/, '"type":"response.working"'),
  'RESP-STRM-02': swap(/("type":"response.output_item.added".*?"id":")/, '$1other'),
  'RESP-STRM-03': swap(/"delta":"word-/, '"delta":"wrd-'),
  'RESP-STRM-04': swap(/"sequence_number":2\b/, '"sequence_number":1'),
  'RESP-STRM-06': swap(/("type":"response.function_call_arguments.delta".*?)"item_id"/, '$1"item"'),
  'RESP-STRM-10': swap(/^event: .*$/gm, 'event: message'),
  'RESP-STOR-02': onMethod('GET', noWord),
  'RESP-STOR-03': swap(/"previous_response_id":"/g, '"previous_response_id":"x'),
  'RESP-STOR-05': status(400, 200),
  'RESP-STOR-06': status(400, 200),
  'RESP-STOR-11': onMethod('GET', status(404, 200)),
  'RESP-STOR-12': onPath(/input_items/, noWord),
}

const chat: Record<string, Defect> = {
  'CHAT-RES-01': swap(/"created":/, '"made":'),
  'CHAT-RES-02': swap(/"finish_reason":"stop"/, '"finish_reason":"end"'),
  'CHAT-RES-03': swap(/"total_tokens":15/, '"total_tokens":14'),
  'CHAT-REQ-01': noWord,
  'CHAT-REQ-02': status(404, 500),
  'CHAT-REQ-03': status(400, 200),
  'CHAT-ERR-01': swap(/"message":/, '"text":'),
  'CHAT-TOOL-01': swap(/"type":"function"/, '"type":"tool"'),
  'CHAT-TOOL-02': swap(/"finish_reason":"tool_calls"/, '"finish_reason":"stop"'),
  'CHAT-TOOL-03': swap(/"content":"word-/, '"content":"wrong-'),
  'CHAT-TOOL-04': status(400, 200),
  'CHAT-TOOL-05': status(400, 200),
  'CHAT-STRM-01': swap(/data: \[DONE\]\n\n/, ''),
  'CHAT-STRM-02': swap(/"role":"assistant"/, '"role":"user"'),
  'CHAT-STRM-03': swap(/"finish_reason":null/, '"finish_reason":"stop"'),
  'CHAT-STRM-04': swap(/"index":0,"id"/, '"index":1,"id"'),
  'CHAT-STRM-05': swap(/"usage":\{/, '"counts":{'),
  'CHAT-CLNT-01': onPath(/completions/, status(200, 400)),
}

const messages: Record<string, Defect> = {
  'MSG-RES-01': swap(/"stop_reason":"end_turn"/, '"stop_reason":"stop"'),
  'MSG-RES-02': swap(/"input_tokens":/, '"read_tokens":'),
  'MSG-REQ-01': status(400, 200),
  'MSG-REQ-02': noWord,
  'MSG-ERR-01': swap(/"type":"error",/, ''),
  'MSG-TOOL-01': swap(/"stop_reason":"tool_use"/, '"stop_reason":"end_turn"'),
  'MSG-TOOL-02': swap(/"text":"word-/, '"text":"wrong-'),
  'MSG-TOOL-03': status(400, 200),
  'MSG-TOOL-04': status(400, 200),
  'MSG-STRM-01': swap(/"type":"message_stop"/, '"type":"ping"'),
  'MSG-STRM-02': swap(/^event: .*$/gm, 'event: message'),
  'MSG-STRM-03': swap(/"type":"content_block_stop"/g, '"type":"content_block_start"'),
  'MSG-STRM-04': swap(/"partial_json":"\{/, '"partial_json":"'),
  'MSG-CLNT-01': onPath(/beta/, status(200, 400)),
}

const gemini: Record<string, Defect> = {
  'GEM-RES-01': swap(/"role":"model"/, '"role":"assistant"'),
  'GEM-RES-02': swap(/"promptTokenCount"/, '"promptTokens"'),
  'GEM-REQ-01': noWord,
  'GEM-REQ-02': status(400, 200),
  'GEM-ERR-01': swap(/INVALID_ARGUMENT/, 'INVALID'),
  'GEM-TOOL-01': swap(/"args":/, '"arguments":'),
  'GEM-TOOL-02': swap(/"text":"word-/, '"text":"wrong-'),
  'GEM-TOOL-03': status(400, 200),
  'GEM-STRM-01': swap(/"finishReason":"STOP"/, '"finishReason":""'),
  'GEM-CLNT-01': onPath(/stream/, status(200, 400)),
}

const deltakit: Record<string, Defect> = {
  'DK-SSE-01': swap(/\n\n/g, '\r\n\r\n'),
  'DK-SSE-03': swap(/"type":/, '"kind":'),
  'DK-SSE-04': swap(/data: \[DONE\]\n\n/, ''),
  'DK-SSE-05': header('cache-control', 'public'),
  'DK-CHAT-01': swap(/"type":"text_delta"/g, '"type":"text"'),
  'DK-CHAT-03': onPath(/chat/, status(200, 400)),
  'DK-EVENT-01': swap(/"delta":"[^"]*"/g, '"delta":7'),
  'DK-EVENT-03': swap(/"argument":"\{/, '"argument":"'),
  'DK-EVENT-04': swap(/"call_id":"[^"]*"/g, '"call_id":"same"'),
  'DK-EVENT-05': swap(/("type":"tool_result","call_id":")/, '$1other'),
  'DK-EVENT-07': swap(/"output":"[^"]*"/, '"output":""'),
  'DK-JOB-01': swap(/"status":"pending"/, '"status":"new"'),
  'DK-JOB-02': swap(/"type":"done"/, '"type":"end"'),
  'DK-JOB-03': swap(/^id: 1$/gm, 'id: 5'),
  'DK-JOB-05': onPath(/last_event_id/, swap(/^id: 1$/gm, 'id: 0')),
  'DK-JOB-08': swap(/Job not found/, 'No'),
}

const agui: Record<string, Defect> = {
  'AGUI-RUN-01': swap(/"type":"RUN_STARTED"/, '"type":"STARTED"'),
  'AGUI-RUN-02': swap(/"type":"RUN_FINISHED"/, '"type":"RUN_ENDED"'),
  'AGUI-TEXT-01': swap(/"type":"TEXT_MESSAGE_END"/, '"type":"CUSTOM"'),
  'AGUI-TEXT-02': swap(/("type":"TEXT_MESSAGE_CONTENT".*?"delta":)"[^"]*"/, '$1""'),
  'AGUI-CALL-01': swap(/"type":"TOOL_CALL_END"/, '"type":"CUSTOM"'),
  'AGUI-CALL-02': noResult,
  'AGUI-CALL-03': swap(/"type":"RUN_FINISHED"/, '"type":"RUN_ERROR"'),
  'AGUI-CALL-04': swap(/"delta":"word-/g, '"delta":"wrong-'),
  'AGUI-THRD-01': swap(/"delta":"word-/g, '"delta":"wrong-'),
  'AGUI-ERR-01': status(400, 200),
}

const ui: Record<string, Defect> = {
  'UI-STRM-01': header('x-vercel-ai-ui-message-stream', 'v0'),
  'UI-STRM-02': swap(/"type":"finish"/, '"type":"end"'),
  'UI-STRM-03': swap(/"type":"finish-step"/, '"type":"data-step"'),
  'UI-TEXT-01': swap(/"type":"text-end"/, '"type":"data-end"'),
  'UI-CALL-01': swap(/"toolName":"echo"/g, '"toolName":""'),
  'UI-CALL-02': noResult,
  'UI-CHAT-01': swap(/"delta":"word-/g, '"delta":"wrong-'),
  'UI-ERR-01': status(400, 200),
}

const mcp: Record<string, Defect> = {
  'MCP-INIT-01': swap(/"serverInfo":/, '"server":'),
  'MCP-INIT-02': swap(/"protocolVersion":"[^"]*"/, '"protocolVersion":"1999-01-01"'),
  'MCP-BASE-01': swap(/"result":\{\}/, '"result":{"pong":true}'),
  'MCP-BASE-02': swap(/-32601/, '-32603'),
  'MCP-BASE-03': swap(/"jsonrpc":"2.0"/, '"jsonrpc":"1.0"'),
  'MCP-HTTP-01': status(202, 200),
  'MCP-HTTP-02': swap(/-32700/, '-32600'),
  'MCP-HTTP-03': status(404, 200),
  'MCP-TOOL-01': swap(/"inputSchema":/, '"schema":'),
  'MCP-TOOL-02': swap(/"name":"send"/, '"name":"echo"'),
  'MCP-TOOL-03': noResult,
  'MCP-TOOL-04': swap(/"error":\{/, '"failure":{'),
  'MCP-TOOL-05': swap(/"isError":true/, '"isError":false'),
  'MCP-TOOL-06': swap(/"isError":true/, '"isError":false'),
}

/** On the frames that an agent sends. */
const acp: Record<string, Defect> = {
  'ACP-BASE-02': swap(/-32700/, '-32600'),
  'ACP-BASE-05': swap(/-32601/, '-32603'),
  'ACP-BASE-06': swap(/"sessionId":/, '"session":'),
  'ACP-BASE-07': swap(/-32602/, '-32603'),
  'ACP-INIT-01': swap(/"protocolVersion":1/, '"protocolVersion":2'),
  'ACP-INIT-02': swap(/"protocolVersion":1/, '"protocolVersion":999'),
  'ACP-INIT-03': swap(/"agentCapabilities":/, '"capabilities":'),
  'ACP-SESS-01': swap(/-32602/, '-32603'),
  'ACP-SESS-02': swap(/"sessionUpdate":"agent_message_chunk"/, '"sessionUpdate":"agent_thought_chunk"'),
  'ACP-SESS-05': swap(/-32002/, '-32603'),
  'ACP-PROM-01': swap(/"stopReason":"end_turn"/, '"stopReason":"done"'),
  'ACP-PROM-08': swap(/"messageId":"[^"]*"/, '"messageId":"same"'),
  'ACP-CANC-01': swap(/"stopReason":"cancelled"/, '"stopReason":"end_turn"'),
  'ACP-TOOL-01': swap(/"title":"[^"]*"/, '"title":""'),
  'ACP-TOOL-03': swap(/"status":"completed"/, '"status":"in_progress"'),
  'ACP-TOOL-05': swap(/"toolCallId":"[^"]*"/, '"toolCallId":"same"'),
  'ACP-PERM-01': swap(/"kind":"allow_once"/, '"kind":"allow"'),
  'ACP-PERM-02': swap(/"status":"failed"/, '"status":"completed"'),
  'ACP-PERM-07': swap(/"stopReason":"cancelled"/, '"stopReason":"end_turn"'),
}

export const defects = { aap, responses, chat, messages, gemini, deltakit, agui, ui, mcp, acp }
