// Tables of the console: a box that scrolls and can be reached with the keyboard, a caption, and the heads of the columns.
import type { ReactElement, ReactNode } from 'react'

type HeadsProps = { names: readonly string[]; isNumber: (index: number) => boolean }

/** A column without a name has the actions. */
export function Heads({ names, isNumber }: HeadsProps): ReactElement {
  return (
    <thead>
      <tr>
        {names.map((name, index) => (
          <th key={name} scope="col" className={isNumber(index) ? 'number' : undefined}>
            {name === '' ? <span className="tw-hidden">Actions</span> : name}
          </th>
        ))}
      </tr>
    </thead>
  )
}

type DataTableProps = {
  label: string
  caption: ReactNode
  /** The caption is for screen readers alone. */
  hidesCaption?: boolean
  heads: readonly string[]
  isNumber: HeadsProps['isNumber']
  className?: string
  /** The rows. */
  children: ReactNode
}

export function DataTable(props: DataTableProps): ReactElement {
  return (
    <section className={`table-box ${props.className ?? ''}`} tabIndex={0} aria-label={props.label}>
      <table>
        <caption className={props.hidesCaption ? 'tw-hidden' : undefined}>{props.caption}</caption>
        <Heads names={props.heads} isNumber={props.isNumber} />
        <tbody>{props.children}</tbody>
      </table>
    </section>
  )
}
