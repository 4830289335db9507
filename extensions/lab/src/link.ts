import { type Kernel, KernelMessage } from "@jupyterlab/services";
import { type ISignal, Signal } from "@lumino/signaling";

import type { IState } from "./state";

const TARGET = "hermes_nb.panel";
const HELLO = "get_ipython()._hermes_nb_magic.hello()";
const BUSY_MS = 1000;
const SUBSHELL_MS = 3000;
const TOLD_MS = 3000;

/**
 * - `unknown`: nobody looked yet, or the kernel is busy and was not asked;
 * - `foreign`: not a Python kernel;
 * - `unloaded`: Python without hermes_nb;
 * - `open`: it tells its state.
 */
export type Phase = "unknown" | "foreign" | "unloaded" | "open";

interface IShown {
  turn_id: string;
  data: Record<string, string>;
}

/**
 * The line to one kernel. The kernel tells its state whenever it changes, over a comm (see `_panel_comm.py`); whether
 * hermes_nb is loaded at all is asked by an expression, because a kernel logs an error for each comm it does not know.
 */
export class KernelLink {
  constructor(readonly kernel: Kernel.IKernelConnection) {
    kernel.statusChanged.connect(this._onStatus, this);
    kernel.iopubMessage.connect(this._onMessage, this);
    kernel.disposed.connect(() => Signal.clearData(this));
  }

  /** Emitted when `phase`, `state` or `error` changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get phase(): Phase {
    return this._phase;
  }

  /** What the kernel told last; null before it did. */
  get state(): IState | null {
    return this._state;
  }

  /** What went wrong with the last request, for people; '' when nothing did. */
  get error(): string {
    return this._error;
  }

  /** Whether a stop can be heard while a cell runs. */
  get hearsWhileBusy(): boolean {
    return !!(this.kernel as { supportsSubshells?: boolean }).supportsSubshells;
  }

  /** Finds out whether hermes_nb is there, and opens the comm if it is. A busy kernel answers when it is idle. */
  look(): Promise<void> {
    this._isWanted = true;
    this._looking ??= this._look().finally(() => {
      this._looking = null;
    });
    return this._looking;
  }

  /** Asks for the whole state anew. */
  async refresh(): Promise<void> {
    if (this._comm) {
      this._send({ do: "show" });
    } else {
      await this.look();
    }
  }

  /** The state, awaited for a moment when the kernel is about to tell it; null when it does not. */
  async told(): Promise<IState | null> {
    const end = Date.now() + TOLD_MS;
    while (this._comm && !this._state && Date.now() < end) {
      await after(50, undefined);
    }
    return this._state;
  }

  /** Asks for a turn to be stopped. */
  stop(turnId: string): void {
    this._send({ do: "stop", turn: turnId });
  }

  /** What a turn that is over showed, by MIME type; null when the kernel does not say. */
  async answer(turnId: string): Promise<Record<string, string> | null> {
    const told = new Promise<Record<string, string>>(resolve => this._answers.set(turnId, resolve));
    this._send({ do: "answer", turn: turnId });
    return Promise.race([told, after(TOLD_MS, null)]);
  }

  private async _look(): Promise<void> {
    const { kernel } = this;
    let language: string;
    try {
      language = (await kernel.info).language_info.name;
    } catch {
      return; // it went away meanwhile
    }
    if (language !== "python") {
      this._set("foreign");
      return;
    }
    const generation = this._generation;
    const hello = this._hello().then(isThere => {
      if (generation !== this._generation || this._comm) {
        return; // restarted meanwhile, or heard on the other way
      }
      if (isThere === null) {
        this._isDue = true;
      } else if (isThere) {
        void this._open();
      } else {
        this._set("unloaded");
      }
    });
    if (this.hearsWhileBusy) {
      // A cell may run for hours: on a subshell a comm is answered all the same, if at the price of a line in the log where
      // hermes_nb is not loaded. The kernel's status does not tell: what a widget was answered meanwhile leaves it at `idle`.
      const isLate = await Promise.race([hello.then(() => false), after(BUSY_MS, true)]);
      if (isLate && generation === this._generation && !this._comm) {
        await this._open();
      }
    } else {
      await hello;
    }
  }

  /** Whether hermes_nb is loaded; null when the kernel did not say. */
  private async _hello(): Promise<boolean | null> {
    try {
      const future = this.kernel.requestExecute({
        code: "",
        silent: true,
        store_history: false,
        stop_on_error: false,
        allow_stdin: false,
        user_expressions: { hello: HELLO },
      });
      const content = (await future.done).content as KernelMessage.IExecuteReply & { status: string };
      if (content.status !== "ok") {
        return null; // aborted with the cells behind a failing one: the next idle asks again
      }
      const hello = content.user_expressions?.hello as { status?: string } | undefined;
      return hello?.status === "ok";
    } catch {
      return null; // restarted or gone before it answered
    }
  }

  private async _open(): Promise<void> {
    const comm = this.kernel.createComm(TARGET);
    this._comm = comm;
    comm.onMsg = message => {
      if (comm === this._comm) {
        const data = message.content.data as Partial<IState> & { error?: string; answer?: IShown };
        if (data.answer) {
          this._answers.get(data.answer.turn_id)?.(data.answer.data);
        } else {
          this._hear(data);
        }
      }
    };
    comm.onClose = () => {
      if (comm === this._comm) {
        this._reset("unloaded");
      }
    };
    await subshell(comm, this.hearsWhileBusy);
    if (comm === this._comm) {
      comm.open();
    }
  }

  private _send(request: { do: string; turn?: string }): void {
    this._error = "";
    this._comm?.send(request);
  }

  private _hear(told: Partial<IState> & { error?: string }): void {
    this._error = told.error ?? "";
    if (!told.error) {
      this._state = told as IState;
    }
    this._set("open");
  }

  private _set(phase: Phase): void {
    this._phase = phase;
    this._changed.emit();
  }

  private _reset(phase: Phase): void {
    this._comm = null;
    this._state = null;
    this._error = "";
    this._set(phase);
  }

  private _onStatus(_: unknown, status: Kernel.Status): void {
    if (["restarting", "autorestarting", "dead", "terminating"].includes(status)) {
      this._generation += 1;
      this._reset("unknown");
      this._isDue = this._isWanted && status !== "dead" && status !== "terminating";
    } else if (status === "idle" && this._isDue) {
      this._isDue = false;
      void this.look();
    }
  }

  /** A cell that may have loaded hermes_nb is over: look again. */
  private _onMessage(_: unknown, message: KernelMessage.IIOPubMessage): void {
    if (this._isWanted && this._phase !== "open" && KernelMessage.isExecuteInputMsg(message)) {
      this._isDue ||= /hermes/.test(message.content.code);
    }
  }

  private _phase: Phase = "unknown";
  private _state: IState | null = null;
  private _error = "";
  private _answers = new Map<string, (data: Record<string, string>) => void>();
  private _comm: Kernel.IComm | null = null;
  private _generation = 0;
  private _isDue = false;
  private _isWanted = false;
  private _looking: Promise<void> | null = null;
  private _changed = new Signal<this, void>(this);
}

/** Waits until a comm has its subshell: what is sent before goes to the main shell, which may be busy. */
async function subshell(comm: Kernel.IComm, isExpected: boolean): Promise<void> {
  const started = (comm as { subshellStarted?: Promise<void> }).subshellStarted;
  if (isExpected && started) {
    await Promise.race([started.catch(() => undefined), after(SUBSHELL_MS, undefined)]);
  }
}

/** A value after a time. */
export function after<T>(ms: number, value: T): Promise<T> {
  return new Promise(resolve => setTimeout(() => resolve(value), ms));
}
