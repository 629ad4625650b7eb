// What the gate decides and why: the rules of an agent in order with what each did, what it would say about a call that nobody
// made, the verdict on each tool, rules that are tried beside them, and what the tools can do together.
import { type ReactElement, useCallback } from 'react'
import type { OperatorAgent, OperatorPolicy } from '../../../../src/client/index.ts'
import { printable } from '../../../../src/lib/text/index.ts'
import { KindIcon, Time } from '../../../../src/react/index.ts'
import { plural } from '../../../../src/react/words.ts'
import { AgentTabs } from '../../lib/agent-tabs.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { count, Failure, Loading, NeedsOperator, useLoaded } from '../../lib/parts.tsx'
import { Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { DataTable } from '../../lib/table.tsx'
import { ruleWords, unlessWords, Verdict } from '../../lib/verdict.tsx'
import { Flow } from '../tools/flow.tsx'
import { Judge, useJudged } from './judge.tsx'
import { Rules } from './rules.tsx'
import { Shadow } from './shadow.tsx'

const spans = [1, 7, 30, 90]
const usualDays = 7

export default function Policy(): ReactElement {
  const address = useAddress()
  const { me, catalogue } = useConsole()
  const days = spans.find(each => String(each) === address.query.get('days')) ?? usualDays
  const load = useCallback((signal: AbortSignal) => operator.policy(days, { signal }), [days])
  const { value, error, reload } = useLoaded(load)
  const agents = catalogue?.agents ?? []
  const agent = agents.find(each => each.name === address.query.get('agent')) ?? agents[0]
  if (!me.operator && !me.open) return <NeedsOperator why="Rules speak of every owner’s calls." />
  return (
    <div className="page policy">
      <header className="page-head">
        <h1>Policy</h1>
        {agent && (
          <AgentTabs
            agents={agents}
            current={agent}
            address={address}
            without={['tool', 'input', 'session']}
          />
        )}
        <Days days={days} />
      </header>
      {error && <Failure error={error} retry={reload} />}
      {!error && (!value || !agent) && <Loading what="the policy" />}
      {value && agent && <OneAgent key={agent.name} policy={value} agent={agent} days={days} />}
    </div>
  )
}

function Days({ days }: { days: number }): ReactElement {
  const address = useAddress()
  return (
    <select
      className="tw-input policy-days"
      aria-label="Counted"
      value={days}
      onChange={event => navigate(withQuery(address, { days: event.target.value }), { replace: true })}
    >
      {spans.map(each => (
        <option key={each} value={each}>
          {each === 1 ? 'Last day' : `Last ${each} days`}
        </option>
      ))}
    </select>
  )
}

type OneAgentProps = { policy: OperatorPolicy; agent: OperatorAgent; days: number }

function OneAgent({ policy, agent, days }: OneAgentProps): ReactElement {
  const { catalogue } = useConsole()
  const judged = useJudged(agent)
  const own = policy.agents.find(each => each.agent === agent.name)
  const decidedBy = judged.answer && 'rule' in judged.answer ? judged.answer.rule : undefined
  const { sessions, complete } = policy.scanned
  return (
    <div className="policy-body page-scroll">
      <div className="policy-rules">
        {policy.file && <RulesFile file={policy.file} />}
        <Rules
          rules={own?.policy}
          hits={policy.hits.filter(each => each.agent === agent.name)}
          decidedBy={decidedBy}
        />
        <p className="tw-muted">
          Counted from {plural(sessions, 'session')} of the last {days === 1 ? 'day' : `${days} days`}
          {complete ? '.' : ': the newest ones. Older calls are not in these figures.'}
        </p>
        <Shadow policy={policy} agent={agent.name} rules={own?.policy?.shadow} />
        <ToolVerdicts agent={agent} />
        <Flow report={catalogue?.flow?.find(each => each.agent === agent.name)} />
      </div>
      <Judge agent={agent} judged={judged} />
    </div>
  )
}

function RulesFile({ file }: { file: NonNullable<OperatorPolicy['file']> }): ReactElement {
  return (
    <p className="tw-muted">
      Rules of the file <code>{printable(file.file, 200)}</code> were read <Time at={file.loadedAt} />.
      {file.problem !== undefined && (
        <span className="bad" role="alert">
          {' '}
          Its newest state is not used: {printable(file.problem, 400)}
        </span>
      )}
    </p>
  )
}

const toolHeads = ['Tool', 'Verdict', 'Decided by', 'By arguments']

function ToolVerdicts({ agent }: { agent: OperatorAgent }): ReactElement {
  return (
    <DataTable
      label="Verdicts on tools"
      className="verdicts"
      caption={`Tools, ${count(agent.tools.length)}: what a call of each meets`}
      heads={toolHeads}
      isNumber={() => false}
    >
      {agent.tools.map(tool => (
        <tr key={tool.name}>
          <th scope="row">
            <Link
              to={`/tools?agent=${encodeURIComponent(agent.name)}&tool=${encodeURIComponent(tool.name)}`}
              className="tool-name"
            >
              <KindIcon kind={tool.kind} />
              <code>{printable(tool.name, 60)}</code>
            </Link>
          </th>
          <td>{tool.verdict ? <Verdict verdict={tool.verdict.verdict} /> : '–'}</td>
          <td>{tool.verdict ? ruleWords(tool.verdict.rule) : 'the application'}</td>
          <td className="words">{tool.verdict ? unlessWords(tool.verdict) || '–' : '–'}</td>
        </tr>
      ))}
    </DataTable>
  )
}
