import type { ComponentChildren, JSX } from 'preact';
import { useErrorBoundary } from 'preact/hooks';

/** A message in place of a part that cannot be shown: during an upgrade a replica of another version may answer. */
export function Guarded({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const [error, showAgain] = useErrorBoundary((thrown: unknown) => console.error(thrown)) as [unknown, () => void];
  if (error === undefined) return <>{children}</>;
  return (
    <div class="note failure" role="alert">
      This page cannot show the answer of the control plane, which may have another version:{' '}
      <code>{error instanceof Error ? error.message : String(error)}</code>{' '}
      <button type="button" onClick={showAgain}>
        Show again
      </button>
    </div>
  );
}
