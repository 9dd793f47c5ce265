import { declineOffer, signIn } from '../api/session.ts';
import { Whose } from './whose.tsx';

/** Asks whether the token of a link is to replace the token of this tab. */
export const Offer = ({ token }: { token: string }) => (
  <section class="ended" role="alert">
    <p>
      A link wants to sign this tab in with another token. What you type afterwards goes to the integration of
      that token: follow it only if you know who made the link.
    </p>
    <Whose />
    <span class="row">
      <button type="button" class="main" onClick={declineOffer}>
        Stay as you are
      </button>
      <button type="button" onClick={() => signIn(token)}>
        Use the link’s token
      </button>
    </span>
  </section>
);
