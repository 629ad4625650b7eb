// A menu behind a button. Escape, a click elsewhere, a choice and leaving it by Tab close it; Escape gives the focus back to
// the button. Arrow keys walk through it.
import { type KeyboardEvent, type ReactElement, type ReactNode, useEffect, useRef, useState } from 'react'

type MenuProps = {
  label: ReactNode
  /** Says what it is, where the label is a picture. */
  name?: string
  children: ReactNode
  className?: string
}

export function Menu({ label, name, children, className = 'tw-button' }: MenuProps): ReactElement {
  const box = useRef<HTMLDetailsElement>(null)
  const [isOpen, setOpen] = useState(false)
  useClickElsewhere(box, isOpen, () => setOpen(false))
  return (
    <details
      ref={box}
      className="menu"
      open={isOpen}
      onToggle={event => setOpen(event.currentTarget.open)}
      onKeyDown={event => onMenuKey(event, box.current, setOpen)}
      onBlur={event => {
        if (event.relatedTarget && !box.current?.contains(event.relatedTarget)) setOpen(false)
      }}
    >
      <summary className={className} aria-label={name} title={name}>
        {label}
      </summary>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a choice bubbles up from its button */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: buttons make clicks of keys */}
      <div className="menu-box" onClick={event => isChoice(event.target) && setOpen(false)}>
        {isOpen && children}
      </div>
    </details>
  )
}

/** A choice that says itself that it was done, such as "Copied", leaves the menu open. */
function isChoice(target: EventTarget): boolean {
  return target instanceof Element && target.closest('button, a') !== null && !target.closest('[data-stays]')
}

function onMenuKey(
  event: KeyboardEvent,
  box: HTMLDetailsElement | null,
  setOpen: (isOpen: boolean) => void,
): void {
  if (!box?.open) return
  if (event.key === 'Escape') {
    event.preventDefault()
    event.stopPropagation()
    setOpen(false)
    box.querySelector('summary')?.focus()
    return
  }
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const choices = [...box.querySelectorAll<HTMLElement>('.menu-box :is(button, a)')]
  const at = choices.indexOf(document.activeElement as HTMLElement) // only its place is asked for
  choices[(at + step + choices.length) % choices.length]?.focus()
}

function useClickElsewhere(
  box: { current: HTMLElement | null },
  isOn: boolean,
  onElsewhere: () => void,
): void {
  const latest = useRef(onElsewhere)
  latest.current = onElsewhere
  useEffect(() => {
    if (!isOn) return undefined
    const onPointer = (event: PointerEvent): void => {
      if (!(event.target instanceof Node && box.current?.contains(event.target))) latest.current()
    }
    document.addEventListener('pointerdown', onPointer)
    return () => document.removeEventListener('pointerdown', onPointer)
  }, [box, isOn])
}
