// Keys that stand for an action do nothing while a person types. A module of its own: every page needs it, and few need the form of
// an approval.

export function isTyping(target: EventTarget): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
