// The setup of the playground: the agent, its model, the tools of this page, and a script for the model.
import { type ReactElement, useId } from 'react'
import type { OperatorAgent } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { useConsole } from '../../lib/console-state.tsx'
import type { LiveSession } from '../../lib/live-session.ts'
import { navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { ToolVerdict } from '../../lib/verdict.tsx'
import type { PageTool } from './page-tools.ts'
import { exampleScript } from './script.ts'
import { ToolEditor } from './tool-editor.tsx'

type SetupProps = {
  agent: OperatorAgent
  model: string | undefined
  session: LiveSession
  tools: readonly PageTool[]
  onTools: (tools: PageTool[]) => void
  script: string | undefined
  onScript: (script: string | undefined) => void
}

export function Setup(props: SetupProps): ReactElement {
  const { agent, tools, onTools } = props
  const { me } = useConsole()
  return (
    <aside className="setup" aria-label="Setup">
      <Choices {...props} />
      <details open>
        <summary>Tools of the agent</summary>
        {agent.tools.length === 0 && <p className="tw-muted">It has none.</p>}
        <ul className="plain">
          {agent.tools.map(tool => (
            <li key={tool.name} title={printable(tool.description, 300)}>
              <code>{printable(tool.name, 60)}</code> <ToolVerdict tool={tool} />
            </li>
          ))}
        </ul>
      </details>
      <details open>
        <summary>Tools of this page</summary>
        <p className="tw-muted">
          The model may call them too; they run here, in the browser. A new one is known to the next new
          session.
        </p>
        <ToolEditor tools={tools} onChange={onTools} />
      </details>
      {me.operator && <Script {...props} />}
    </aside>
  )
}

function Choices({ agent, model, session }: SetupProps): ReactElement {
  const { catalogue, models } = useConsole()
  const address = useAddress()
  const id = useId()
  const setModel = (name: string): void => {
    navigate(withQuery(address, { model: name }), { replace: true })
    if (session.id !== '' && name !== '') void session.command({ do: 'configure', model: name })
  }
  return (
    <div className="tw-fields">
      <div className="tw-field">
        <label htmlFor={`${id}-agent`}>Agent</label>
        <select
          id={`${id}-agent`}
          value={agent.name}
          onChange={event => navigate(withQuery(address, { agent: event.target.value, session: undefined }))}
        >
          {catalogue?.agents.map(each => (
            <option key={each.name} value={each.name}>
              {printable(each.title ?? each.name, 60)}
            </option>
          ))}
        </select>
        {agent.description !== undefined && (
          <p className="tw-muted tw-about">{printable(agent.description, 300)}</p>
        )}
      </div>
      <div className="tw-field">
        <label htmlFor={`${id}-model`}>Model</label>
        <select id={`${id}-model`} value={model ?? ''} onChange={event => setModel(event.target.value)}>
          <option value="">{printable(agent.model?.name ?? agent.model?.id ?? 'the agent’s own', 60)}</option>
          {models.map(name => (
            <option key={name} value={name}>
              {printable(name, 60)}
            </option>
          ))}
        </select>
      </div>
    </div>
  )
}

function Script({ script, onScript }: SetupProps): ReactElement {
  const id = useId()
  return (
    <details open={script !== undefined || undefined}>
      <summary>Script the model</summary>
      <p className="tw-muted">
        Your next message is answered with these answers, one after the other. The gate, the tools and the log
        are the real ones.
      </p>
      <label className="check">
        <input
          type="checkbox"
          checked={script !== undefined}
          onChange={event => onScript(event.target.checked ? exampleScript : undefined)}
        />
        Use a script
      </label>
      {script !== undefined && (
        <>
          <label htmlFor={id} className="tw-hidden">
            Script
          </label>
          <textarea
            id={id}
            className="tw-input tw-code"
            rows={8}
            value={script}
            onChange={event => onScript(event.target.value)}
          />
        </>
      )}
    </details>
  )
}
