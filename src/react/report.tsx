// A tool's report of its work, or of what a call would do: files, changes, terminals, a table. All of it is text.
import type { ReactElement } from 'react'
import type { FileDiff, Report, Rows, TerminalReport } from '../language/report.ts'
import { printable } from '../lib/text/index.ts'
import { Diff } from './diff.tsx'
import { Terminal } from './terminal.tsx'

export function ReportView({ report }: { report: Report | undefined }): ReactElement | null {
  if (!report) return null
  const { locations = [], diffs = [], terminals = [], rows, leftOut } = report
  return (
    <section className="tw-report" aria-label="What the tool works on">
      {locations.length > 0 && (
        <ul className="tw-locations">
          {locations.map(({ path, line }) => (
            <li key={`${path}:${line}`}>
              <code>
                {printable(path, 300)}
                {line === undefined ? '' : `:${line}`}
              </code>
            </li>
          ))}
        </ul>
      )}
      {diffs.map(diff => (
        <FileChange key={diff.path} diff={diff} />
      ))}
      {terminals.map(terminal => (
        <TerminalState key={terminal.id} terminal={terminal} />
      ))}
      {rows && <ReportedTable rows={rows} />}
      {leftOut !== undefined && <p className="tw-muted">{leftOut} more are left out.</p>}
    </section>
  )
}

function FileChange({ diff: { path, oldText, newText } }: { diff: FileDiff }): ReactElement {
  const what = oldText === null ? 'is new' : newText === null ? 'is deleted' : undefined
  return (
    <div>
      {what !== undefined && (
        <p className="tw-muted tw-path">
          <code>{printable(path, 300)}</code> {what}
        </p>
      )}
      <Diff
        before={oldText ?? ''}
        after={newText ?? ''}
        label={`Changes in ${printable(path, 200)}`}
        path={path}
      />
    </div>
  )
}

function ReportedTable({ rows: { columns, rows } }: { rows: Rows }): ReactElement {
  return (
    // A region that scrolls has to be reachable with the keyboard.
    <section className="tw-report-rows" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th key={at} scope="col">
                {printable(column, 200)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, at) => (
                <td key={at}>{printable(cell, { multiline: true })}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function TerminalState({ terminal }: { terminal: TerminalReport }): ReactElement {
  const { command, cwd, output, exit } = terminal
  const end =
    exit === undefined ? 'running' : 'code' in exit ? `exit ${exit.code}` : `ended by ${exit.signal}`
  return (
    <div>
      <p className="tw-muted tw-path">
        {command !== undefined && <code>$ {printable(command, 400)}</code>}{' '}
        {cwd !== undefined && printable(cwd, 200)} {end}
      </p>
      {output !== undefined && output !== '' && <Terminal text={output} />}
    </div>
  )
}
