import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { logIn, loginReason } from '../session.ts';
import { Failure } from '../parts/failure.tsx';
import { ApiFailure } from '../session.ts';
import { asSentence } from '../words.ts';

/** Asks for a user token. @param reason why; `''` when a person wants to log in */
export function LoginPage({ reason }: { readonly reason: string }): JSX.Element {
  const [failure, setFailure] = useState<ApiFailure | undefined>();
  const submit = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get('token');
    logIn(typeof token === 'string' ? token.trim() : '').catch((error: unknown) => {
      setFailure(error instanceof ApiFailure ? error : new ApiFailure(0, 'The control plane does not answer'));
    });
  };
  return (
    <section class="card login">
      <h1>Log in</h1>
      {reason !== '' && <p role="alert">{asSentence(reason)}.</p>}
      <form onSubmit={submit}>
        <label for="token">User token</label>
        <input id="token" name="token" type="password" autocomplete="off" required autoFocus />
        <Failure of={failure} />
        <p class="soft">
          <code>meridian generate user-token --name NAME --valid-for 8h</code> prints one. It stays in this tab.
        </p>
        <div>
          <button class="main">Log in</button>
          {reason === '' && (
            <button type="button" class="plain" onClick={() => (loginReason.value = null)}>
              Cancel
            </button>
          )}
        </div>
      </form>
    </section>
  );
}
