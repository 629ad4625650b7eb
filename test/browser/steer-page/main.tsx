// A conversation with a composer, and a button that stops each call. The session is in the address.
import type { ReactElement } from 'react'
import { createRoot } from 'react-dom/client'
import { AapClient } from '../../../src/client/index.ts'
import { type CallView, Composer, StopCall, Transcript, useSession } from '../../../src/react/index.ts'
import '../../../src/react/style.css'

const { origin, search } = window.location
const client = new AapClient({ baseUrl: `${origin}/aap/v3` })
const sessionId = new URLSearchParams(search).get('session') ?? undefined

function Page(): ReactElement {
  const { view, connection, send, withdraw, cancelCall } = useSession(client, sessionId)
  return (
    <main>
      <Transcript
        items={view?.items ?? []}
        renderDetails={(call: CallView) => <StopCall call={call} onStop={cancelCall} />}
      />
      <Composer
        onSend={send}
        isActive={view?.active ?? false}
        messages={view?.messages}
        onWithdraw={withdraw}
        connection={connection}
      />
    </main>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<Page />)
