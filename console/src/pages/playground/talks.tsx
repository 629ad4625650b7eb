// What was said in the playground: one conversation, or those of two models side by side.
import type { ReactElement } from 'react'
import type { CallView } from '../../../../src/react/index.ts'
import { AnswerForm } from '../../lib/answer-form.tsx'
import { Conversation } from '../../lib/conversation.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import type { PageTool } from './page-tools.ts'
import { describeWork } from './rival.tsx'

type TalksProps = {
  sides: { own: string; session: LiveSession; rival: string | undefined; other: LiveSession }
  tools: readonly PageTool[]
}

export default function Talks({ sides: { own, session, rival, other }, tools }: TalksProps): ReactElement {
  if (rival === undefined)
    return (
      <Conversation
        session={session}
        renderClientCall={call => <PersonAnswer call={call} tools={tools} session={session} />}
      />
    )
  return (
    <div className="rivals">
      <Side name={own} session={session} />
      <Side name={rival} session={other} />
    </div>
  )
}

type SideProps = { name: string; session: LiveSession }

/** One of the two conversations, with its model, tokens, cost and time. */
function Side({ name, session }: SideProps): ReactElement {
  return (
    <section className="rival-side" aria-label={`Conversation with ${name}`}>
      <p className="rival-score" role="status">
        <strong>{name}</strong>{' '}
        {session.view && <span className="tw-muted">{describeWork(session.view)}</span>}
      </p>
      <Conversation session={session} />
    </section>
  )
}

function PersonAnswer(props: {
  call: CallView
  tools: readonly PageTool[]
  session: LiveSession
}): ReactElement | null {
  const { call, tools, session } = props
  if (tools.find(tool => tool.name === call.name)?.answer !== 'person') return null
  return (
    <AnswerForm
      label="This tool runs in this page. What does it answer?"
      button="Send the result"
      mayBeEmpty
      onAnswer={text => session.command({ do: 'result', callId: call.id, text })}
    />
  )
}
