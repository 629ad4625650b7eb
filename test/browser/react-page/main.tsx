// Every state of a call, and the DeltaKit hook, on one page. The test opens it with React 18 and with React 19.
import { type ReactElement, version } from 'react'
import { createRoot } from 'react-dom/client'
import {
  Approval,
  type CallStatus,
  type CallView,
  Diff,
  ToolCall,
  useStreamChat,
} from '../../../src/react/index.ts'
import '../../../src/react/style.css'

const statuses: CallStatus[] = [
  'writing',
  'proposed',
  'client',
  'waiting',
  'allowed',
  'running',
  'ok',
  'error',
  'invalid',
  'denied',
  'timeout',
  'cancelled',
  'abandoned',
  'unknown',
]

function callOf(status: CallStatus): CallView {
  const isOver = statuses.indexOf(status) >= statuses.indexOf('ok')
  const call = {
    id: `call_${status}`,
    name: `tool_${status}`,
    form: 'json',
    status,
    events: [],
    attempts: 1,
    output: '',
  } as const
  return {
    ...call,
    events: [],
    text: status === 'writing' ? '{"path": "/tm' : '{"path":"/tmp/x"}',
    proposedAt: 1_790_000_000_000,
    startedAt: 1_790_000_000_000,
    ...(status === 'running' && { progress: { message: 'working', done: 3, total: 10 } }),
    ...(isOver && {
      settledAt: 1_790_000_001_000,
      outcome: { kind: status as 'ok', parts: [{ type: 'text', text: 'said' }], from: { source: 'runtime' } },
    }),
  }
}

const chunks = [
  { type: 'text_delta', delta: 'Look: ' },
  { type: 'tool_call', tool_name: 'search', argument: '{"q":1}', call_id: 'c1' },
  { type: 'tool_result', call_id: 'c1', output: 'found' },
]
const answer = `${chunks.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`

function Chat(): ReactElement {
  const chat = useStreamChat({
    fetch: () => Promise.resolve(new Response(answer)),
    onEvent: (event, { appendText, appendPart, setMessages }) => {
      if (event.type === 'text_delta') appendText(String(event.delta as string))
      if (event.type === 'tool_call')
        appendPart({ type: 'tool_call', tool_name: 'search', argument: '{}', callId: 'c1' })
      if (event.type === 'tool_result')
        setMessages(all =>
          all.map(message => ({
            ...message,
            parts: message.parts.map(part =>
              part.type === 'tool_call' ? { ...part, result: 'found' } : part,
            ),
          })),
        )
    },
  })
  return (
    <section aria-label="Chat">
      <button type="button" onClick={() => chat.sendMessage('Hi')}>
        Say hi
      </button>
      <pre>{JSON.stringify(chat.messages.at(-1)?.parts)}</pre>
    </section>
  )
}

function Page(): ReactElement {
  return (
    <main>
      <h1>React {version}</h1>
      {statuses.map(status => (
        <ToolCall key={status} call={callOf(status)} kind="read" />
      ))}
      <Diff before={'a\nb'} after={'a\nc'} />
      <Approval
        question={{
          callId: 'c',
          tool: { name: 'send' },
          form: 'json',
          text: '{"to":"ana"}',
          argsHash: 'hash',
          rule: 'r',
          askedAt: 0,
        }}
        onAnswer={() => Promise.reject(new Error('The server refuses.'))}
      />
      <Chat />
    </main>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<Page />)
