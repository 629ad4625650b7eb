// Draws an approval as HTML. It is bundled by its test, because Node does not read JSX.
import { renderToStaticMarkup } from 'react-dom/server'
import { Approval, type ApprovalQuestion } from '../../src/react/approval.tsx'

export function draw(question: ApprovalQuestion): string {
  return renderToStaticMarkup(<Approval question={question} onAnswer={() => undefined} />)
}
