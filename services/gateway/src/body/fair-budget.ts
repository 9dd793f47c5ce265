// A bounded number of bytes, shared fairly by integrations. Pure: no IO, no clock.
//
//   a reservation that is                          when it gets more bytes
//   the only reservation                           always
//   the only reservation of its integration        when the bytes are free
//   one of several reservations                    when the integration then holds at most twice the bytes that stay free
//
// So one integration that wants all bytes gets two thirds of the bytes, two such integrations get two fifths each, and some bytes
// are always free for an integration that holds none. A reservation that gets no bytes waits. Free bytes go first to reservations
// that are alone in their integration, and then integrations take turns.

const timesFree = 2;

export interface BudgetOptions {
  bytesMax: number;
  /** How many reservations of one integration wait at most. */
  waitingMax: number;
}

/** The result of asking for more bytes. `refused` means that `waitingMax` reservations of the integration wait already. */
export type Grant = 'granted' | 'waits' | 'refused';

interface Share {
  integration: string;
  heldBytes: number;
  reservationCount: number;
  /** The waiting reservations, in the order in which they came. */
  waiting: Set<Reservation>;
}

export class Budget {
  readonly #options: BudgetOptions;
  readonly #shares = new Map<string, Share>();
  /** The integrations (as shares) of which a reservation waits; the first one is the next to get bytes. */
  readonly #turns = new Set<Share>();
  #heldBytes = 0;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get waitingCount(): number {
    return this.#turns.values().reduce((count, { waiting }) => count + waiting.size, 0);
  }

  /** How many integrations have a reservation. */
  get shareCount(): number {
    return this.#shares.size;
  }

  /** The fewest bytes that a waiting integration holds; Infinity when no integration waits. */
  get leastWaitingBytes(): number {
    return this.#turns.values().reduce((least, { heldBytes }) => Math.min(least, heldBytes), Infinity);
  }

  /** Opens a reservation without bytes. The caller must release the reservation. */
  open(integration: string): Reservation {
    const share = this.#shares.getOrInsertComputed(integration, () => ({
      integration,
      heldBytes: 0,
      reservationCount: 0,
      waiting: new Set(),
    }));
    share.reservationCount += 1;
    return new Reservation(this, share);
  }

  /** Reserves more bytes for a reservation. Only the class Reservation calls `grow`, `shrink` and `leave`. */
  grow(reservation: Reservation, bytes: number): Grant {
    const { share } = reservation;
    if (this.#turns.size === 0 && this.#fits(reservation, bytes, 0)) {
      this.#hold(reservation, bytes);
      return 'granted';
    }
    if (share.waiting.size >= this.#options.waitingMax) return 'refused';
    reservation.wantedBytes = bytes;
    share.waiting.add(reservation);
    this.#turns.add(share);
    this.#serve();
    return reservation.wantedBytes === 0 ? 'granted' : 'waits';
  }

  shrink(reservation: Reservation, bytes: number): void {
    this.#hold(reservation, -bytes);
    if (this.#turns.size > 0) this.#serve();
  }

  leave(reservation: Reservation): void {
    const { share } = reservation;
    if (reservation.wantedBytes > 0) {
      reservation.wantedBytes = 0;
      share.waiting.delete(reservation);
      if (share.waiting.size === 0) this.#turns.delete(share);
    }
    share.reservationCount -= 1;
    if (share.reservationCount === 0) this.#shares.delete(share.integration);
    this.shrink(reservation, reservation.heldBytes);
  }

  #hold(reservation: Reservation, bytes: number): void {
    reservation.heldBytes += bytes;
    reservation.share.heldBytes += bytes;
    this.#heldBytes += bytes;
  }

  #fits(reservation: Reservation, bytes: number, keptBytes: number): boolean {
    if (this.#heldBytes === reservation.heldBytes) return true;
    const freeBytes = this.#options.bytesMax - this.#heldBytes - bytes;
    if (isOnlyOne(reservation)) return freeBytes >= 0;
    return reservation.share.heldBytes + bytes <= timesFree * (freeBytes - keptBytes);
  }

  /** Gives free bytes to waiting reservations, and calls `onGranted` of each that gets bytes. */
  #serve(): void {
    const granted: Reservation[] = [];
    const grant = (reservation: Reservation): void => {
      const { share } = reservation;
      this.#hold(reservation, reservation.wantedBytes);
      reservation.wantedBytes = 0;
      share.waiting.delete(reservation);
      this.#turns.delete(share);
      // A share that has just got bytes moves behind all other waiting shares.
      if (share.waiting.size > 0) this.#turns.add(share);
      granted.push(reservation);
    };
    // `keptBytes` stay free for waiting reservations that are the only reservation of their integration.
    let keptBytes = 0;
    for (const share of this.#turns) {
      const reservation = firstOf(share);
      if (reservation === undefined || !isOnlyOne(reservation)) continue;
      if (this.#fits(reservation, reservation.wantedBytes, 0)) grant(reservation);
      else keptBytes += reservation.wantedBytes;
    }
    // `grant` moves a share with more waiting reservations to the end of the shares, so that this loop comes to the share again.
    for (const share of this.#turns) {
      const reservation = firstOf(share);
      if (reservation === undefined || isOnlyOne(reservation)) continue;
      if (this.#fits(reservation, reservation.wantedBytes, keptBytes)) grant(reservation);
    }
    for (const { onGranted } of granted) onGranted?.();
  }
}

const firstOf = ({ waiting }: Share): Reservation | undefined => waiting.values().next().value;

const isOnlyOne = ({ share, heldBytes }: Reservation): boolean => share.heldBytes === heldBytes;

/** The bytes of a budget that one body or answer holds. */
export class Reservation {
  readonly share: Share;
  heldBytes = 0;
  /** The bytes that the reservation waits for. */
  wantedBytes = 0;
  /** The budget calls `onGranted` once the reservation has the bytes that it waited for. */
  onGranted: (() => void) | undefined;
  readonly #budget: Budget;
  #isReleased = false;

  constructor(budget: Budget, share: Share) {
    this.#budget = budget;
    this.share = share;
  }

  /** Grows to `toBytes`, or waits until enough bytes are free. */
  grow(toBytes: number): Grant {
    if (toBytes <= this.heldBytes) return 'granted';
    return this.#isReleased ? 'refused' : this.#budget.grow(this, toBytes - this.heldBytes);
  }

  shrink(toBytes: number): void {
    if (toBytes < this.heldBytes) this.#budget.shrink(this, this.heldBytes - toBytes);
  }

  /** Gives all bytes of the reservation back, and ends its wait for more. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#budget.leave(this);
  }
}
