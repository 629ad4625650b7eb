// A part that few need at first: a file of its own, which is loaded when it is first shown, or before by `load`. One that cannot be
// loaded says so, and what stands around it stays.
import { type ComponentType, createElement, type ReactElement, useEffect, useState } from 'react'

export type Later<Props> = ((props: Props) => ReactElement) & { load: () => Promise<void> }

export function later<Props extends object>(read: () => Promise<ComponentType<Props>>): Later<Props> {
  let part: ComponentType<Props> | undefined
  let loading: Promise<void> | undefined
  const load = (): Promise<void> => {
    loading ??= read().then(
      found => {
        part = found
      },
      () => {
        part = NotLoaded
      },
    )
    return loading
  }
  const Part = (props: Props): ReactElement => {
    const [isReady, setReady] = useState(part !== undefined)
    useEffect(() => {
      if (!isReady) void load().then(() => setReady(true))
    }, [isReady])
    return part ? createElement(part, props) : <p className="tw-muted">Loading …</p>
  }
  return Object.assign(Part, { load })
}

function NotLoaded(): ReactElement {
  return (
    <p role="alert" className="tw-problem">
      This part of the page could not be loaded. Load the page again.
    </p>
  )
}
