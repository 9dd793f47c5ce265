// A bounded number of bytes, shared fairly by integrations. Pure: no IO, no clock.
//
//   a claim that is                       gets more bytes when
//   the only one there is                 always
//   the only one of its integration       they are free
//   one of several of its integration     the integration then holds at most twice what stays free
//
// So one integration alone gets two thirds, two that want all they can get have two fifths each, and some part is free at
// every moment for an integration that holds nothing. A claim that gets no more waits; when bytes become free, those
// come first that are the only ones of their integration, and then the integrations take turns.

/** How many times what stays free an integration may hold. */
const timesFree = 2;

export interface BudgetOptions {
  bytesMax: number;
  /** How many claims of one integration wait at most. */
  waitingMax: number;
}

/** `refused`: as many wait as may wait. */
export type Grant = 'granted' | 'waits' | 'refused';

interface Share {
  integration: string;
  heldBytes: number;
  claimCount: number;
  /** In the order in which they came. */
  waiting: Set<Claim>;
}

export class Budget {
  readonly #bytesMax: number;
  readonly #waitingMax: number;
  readonly #shares = new Map<string, Share>();
  /** The shares in which a claim waits, the one whose turn it is first. */
  readonly #turns = new Set<Share>();
  #heldBytes = 0;

  constructor({ bytesMax, waitingMax }: BudgetOptions) {
    this.#bytesMax = bytesMax;
    this.#waitingMax = waitingMax;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** How many claims wait. */
  get waitingCount(): number {
    let count = 0;
    for (const { waiting } of this.#turns) count += waiting.size;
    return count;
  }

  /** How many integrations the budget knows at the moment. */
  get shareCount(): number {
    return this.#shares.size;
  }

  /** What is held by the integration that holds least of those that wait; Infinity when none waits. */
  get leastWaitingBytes(): number {
    let least = Infinity;
    for (const { heldBytes } of this.#turns) least = Math.min(least, heldBytes);
    return least;
  }

  /** A claim that holds nothing yet. It is to be released. */
  open(integration: string): Claim {
    let share = this.#shares.get(integration);
    if (share === undefined) {
      share = { integration, heldBytes: 0, claimCount: 0, waiting: new Set() };
      this.#shares.set(integration, share);
    }
    share.claimCount += 1;
    return new Claim(this, share);
  }

  /** For claims alone, as the next two are. */
  grow(claim: Claim, bytes: number): Grant {
    const { share } = claim;
    if (this.#turns.size === 0 && this.#fits(claim, bytes, 0)) {
      this.#hold(claim, bytes);
      return 'granted';
    }
    if (share.waiting.size >= this.#waitingMax) return 'refused';
    claim.wantedBytes = bytes;
    share.waiting.add(claim);
    this.#turns.add(share);
    this.#serve(claim);
    return claim.wantedBytes === 0 ? 'granted' : 'waits';
  }

  shrink(claim: Claim, bytes: number): void {
    this.#hold(claim, -bytes);
    if (this.#turns.size > 0) this.#serve();
  }

  leave(claim: Claim): void {
    const { share } = claim;
    if (claim.wantedBytes > 0) {
      claim.wantedBytes = 0;
      share.waiting.delete(claim);
      if (share.waiting.size === 0) this.#turns.delete(share);
    }
    share.claimCount -= 1;
    if (share.claimCount === 0) this.#shares.delete(share.integration);
    this.shrink(claim, claim.heldBytes);
  }

  #hold(claim: Claim, bytes: number): void {
    claim.heldBytes += bytes;
    claim.share.heldBytes += bytes;
    this.#heldBytes += bytes;
  }

  #fits(claim: Claim, bytes: number, keptBytes: number): boolean {
    if (this.#heldBytes === claim.heldBytes) return true;
    const freeBytes = this.#bytesMax - this.#heldBytes - bytes;
    if (isOnlyOne(claim)) return freeBytes >= 0;
    return claim.share.heldBytes + bytes <= timesFree * (freeBytes - keptBytes);
  }

  /** Gives what is free to those who wait, and tells them, except the one who is asking just now. */
  #serve(asking?: Claim): void {
    const granted: Claim[] = [];
    const grant = (claim: Claim): void => {
      const { share } = claim;
      this.#hold(claim, claim.wantedBytes);
      claim.wantedBytes = 0;
      share.waiting.delete(claim);
      this.#turns.delete(share);
      // Behind the others, for its next turn.
      if (share.waiting.size > 0) this.#turns.add(share);
      granted.push(claim);
    };
    // Claims that are the only ones of their integration, and what is kept for them where they still have to wait.
    let keptBytes = 0;
    for (const share of this.#turns) {
      const claim = firstOf(share);
      if (claim === undefined || !isOnlyOne(claim)) continue;
      if (this.#fits(claim, claim.wantedBytes, 0)) grant(claim);
      else keptBytes += claim.wantedBytes;
    }
    // A share that was given something is added again, and this loop comes to it once more.
    for (const share of this.#turns) {
      const claim = firstOf(share);
      if (claim === undefined || isOnlyOne(claim)) continue;
      if (this.#fits(claim, claim.wantedBytes, keptBytes)) grant(claim);
    }
    for (const claim of granted) if (claim !== asking) claim.onRoom?.();
  }
}

const firstOf = ({ waiting }: Share): Claim | undefined => waiting.values().next().value;

const isOnlyOne = ({ share, heldBytes }: Claim): boolean => share.heldBytes === heldBytes;

/** The bytes of one body. */
export class Claim {
  readonly share: Share;
  heldBytes = 0;
  /** How many more it waits for. */
  wantedBytes = 0;
  /** Called once it has what it waited for. */
  onRoom: (() => void) | undefined;
  readonly #budget: Budget;
  #isReleased = false;

  constructor(budget: Budget, share: Share) {
    this.#budget = budget;
    this.share = share;
  }

  /** Holds so many bytes from now on, or waits until it may. */
  grow(toBytes: number): Grant {
    if (toBytes <= this.heldBytes) return 'granted';
    return this.#isReleased ? 'refused' : this.#budget.grow(this, toBytes - this.heldBytes);
  }

  shrink(toBytes: number): void {
    if (toBytes < this.heldBytes) this.#budget.shrink(this, this.heldBytes - toBytes);
  }

  /** Gives all of it back, and waits no more. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#budget.leave(this);
  }
}
