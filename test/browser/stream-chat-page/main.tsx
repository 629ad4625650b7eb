// A chat with DeltaKit's hook over the transport and with the agent of the address. The run is kept in the page's storage.
import { type ReactElement, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { useStreamChat } from '../../../src/react/index.ts'

const query = new URLSearchParams(location.search)
const agent = query.get('agent') ?? ''
const keep = {
  getResumeKey: () => sessionStorage.getItem('run'),
  onRunIdChange: (runId: string | null) => {
    if (runId === null) sessionStorage.removeItem('run')
    else sessionStorage.setItem('run', runId)
  },
}

function Chat(): ReactElement {
  const [told, setTold] = useState<string[]>([])
  const tell = (words: string): void => setTold(before => [...before, words])
  const chat = useStreamChat({
    transport: query.get('transport') as 'sse',
    api: `/api/chat/${agent}`,
    transportOptions: {
      ...(query.get('transport') === 'background-sse' && {
        backgroundSSE: {
          startApi: '/api/jobs',
          startBody: { agent },
          eventsApi: '/api/jobs/:runId/events',
          cancelApi: '/api/jobs/:runId/cancel',
          ...keep,
        },
      }),
      ...(query.get('transport') === 'websocket' && {
        websocket: {
          url: `ws://${location.host}/api/ws/${agent}`,
          cancelUrl: '/api/jobs/:runId/cancel',
          ...keep,
        },
      }),
    },
    // What a page has loaded of its history: the question, and a part of the answer.
    initialMessages: JSON.parse(sessionStorage.getItem('messages') ?? '[]') as [],
    onFinish: () => tell('onFinish'),
    onError: error => tell(`onError ${error.message}`),
    onStatusChange: status => tell(status),
  })
  return (
    <main>
      <button type="button" onClick={() => chat.sendMessage('What is the weather in Oslo?')}>
        Send
      </button>
      <button type="button" onClick={chat.stop}>
        Stop
      </button>
      <button type="button" onClick={() => sessionStorage.setItem('messages', JSON.stringify(chat.messages))}>
        Keep
      </button>
      <output aria-label="Messages">
        {JSON.stringify(chat.messages.map(({ role, parts }) => ({ role, parts })))}
      </output>
      <output aria-label="State">{chat.isLoading ? 'loading' : 'resting'}</output>
      <output aria-label="Run">{chat.runId ?? 'none'}</output>
      <output aria-label="Told">{told.join(', ')}</output>
    </main>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<Chat />)
