// Manual control: a person does the loop's actions one at a time. The gate and the log stay as they are.
import { type ReactElement, useEffect, useState } from 'react'
import type { OperatorSessionState } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import type { SessionView } from '../../../../src/react/index.ts'
import { AnswerForm } from '../../lib/answer-form.tsx'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'

const actions: Readonly<Record<string, string>> = {
  'ask-model': 'Ask the model',
  judge: 'Judge the calls',
  run: 'Run the calls',
  await: 'Wait for the calls that run',
  wait: 'Wait for a person or the application',
  end: 'End the turn',
  rest: 'Nothing: no turn is under way',
}

export default function Manual({ session, view }: { session: LiveSession; view: SessionView }): ReactElement {
  const [detail, setDetail] = useState<OperatorSessionState>()
  const { me } = useConsole()
  const { attempt, problem } = useAttempt()
  const { id, command } = session
  // biome-ignore lint/correctness/useExhaustiveDependencies: each event may change what comes next
  useEffect(() => {
    operator.session(id).then(setDetail, () => {})
  }, [id, view.seq])
  const next = detail?.next.do ?? ''
  const canPerform = next !== '' && next !== 'rest' && next !== 'wait'
  return (
    <section className="manual" aria-label="Manual control">
      <p>
        {printable(view.controlledBy ?? '', 60)} has manual control. Next:{' '}
        <strong>{actions[next] ?? '…'}</strong>
      </p>
      {me.operator && (
        <>
          <div className="tw-actions">
            <button
              type="button"
              className="tw-button tw-primary"
              disabled={!canPerform}
              onClick={() => attempt(command({ do: 'perform' }))}
            >
              Do it
            </button>
            <button
              type="button"
              className="tw-button"
              onClick={() => attempt(command({ do: 'release-control' }))}
            >
              Give control back
            </button>
          </div>
          {next === 'ask-model' && (
            <AnswerForm
              label="Or answer in place of the model"
              button="Answer"
              look=""
              onAnswer={text => command({ do: 'answer-model', text })}
            />
          )}
        </>
      )}
      {problem}
    </section>
  )
}
