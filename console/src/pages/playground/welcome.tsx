// The first visit: three sentences, and three messages that show what Turnwire does.
import type { ReactElement } from 'react'
import type { OperatorAgent } from '../../../../src/client/index.ts'
import type { ToolKind } from '../../../../src/language/tools.ts'
import { KindIcon } from '../../../../src/react/index.ts'
import { CommandLine } from '../../lib/parts.tsx'
import type { PageTool } from './page-tools.ts'

type WelcomeProps = { agent: OperatorAgent; tools: readonly PageTool[]; onTry: (text: string) => void }
type Example = { text: string; about: string; kind: ToolKind }

export function Welcome({ agent, tools, onTry }: WelcomeProps): ReactElement {
  return (
    <div className="welcome">
      <h2 className="welcome-title">What should {agent.title ?? agent.name} do?</h2>
      <p className="lead">
        A model only says which tool it wants. Turnwire checks the call, asks you where it must, runs it and
        keeps a record. Nothing leaves this machine unless your configuration says so.
      </p>
      <ul className="examples">
        {suggestExamples(agent, tools).map(({ text, about, kind }) => (
          <li key={text}>
            <button type="button" className="example" onClick={() => onTry(text)}>
              <KindIcon kind={kind} />
              <span>{text}</span>
              <span className="tw-muted">{about}</span>
            </button>
          </li>
        ))}
      </ul>
      {/rehearsal/.test(agent.model?.id ?? '') && <Rehearsal />}
    </div>
  )
}

function Rehearsal(): ReactElement {
  return (
    <details className="rehearsal">
      <summary>The model is a rehearsal: it picks tools by their words, and needs no key.</summary>
      <p className="tw-muted">These two lines of turnwire.config.ts make it a real one:</p>
      <CommandLine
        text={"import { anthropic } from 'turnwire'\nmodel: anthropic({ model: 'claude-sonnet-4-5' })"}
      />
    </details>
  )
}

/** Three for the demonstration agent; for any other agent, one per tool that it has. */
function suggestExamples(agent: OperatorAgent, tools: readonly PageTool[]): Example[] {
  const has = (name: string): boolean => agent.tools.some(tool => tool.name === name)
  const found: Example[] = []
  if (has('get_weather'))
    found.push({ text: 'What is the weather in Paris?', about: 'runs a tool on the server', kind: 'fetch' })
  if (has('send_mail'))
    found.push({
      text: 'Mail ana@example.org that I am late',
      about: 'asks for your approval first',
      kind: 'other',
    })
  for (const tool of agent.tools) {
    if (found.length >= 2) break
    const text = tool.title ?? tool.description.slice(0, 80)
    found.push({ text, about: `uses ${tool.name}`, kind: tool.kind })
  }
  const own = tools[0]
  if (own)
    found.push({
      text: own.name === 'local_time' ? 'What is the local time of my browser?' : own.description,
      about: 'runs a tool in this page',
      kind: 'execute',
    })
  return found
}
