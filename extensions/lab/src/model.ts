import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { type ISignal, Signal } from "@lumino/signaling";

import { KernelLink } from "./link";

/** Follows the current notebook and the kernel behind it. */
export class HermesModel {
  constructor(readonly tracker: INotebookTracker) {
    tracker.currentChanged.connect(this._onNotebook, this);
    this._onNotebook();
  }

  /** Emitted when another notebook, kernel or state is to be shown. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get notebook(): NotebookPanel | null {
    return this._notebook;
  }

  /** The line to the notebook's kernel; null without one. */
  get link(): KernelLink | null {
    return this._link;
  }

  /** Whether somebody looks: only then a kernel is asked anything. */
  set isWatched(value: boolean) {
    this._isWatched = value;
    this._lookIfWatched();
  }

  private _onNotebook(): void {
    const notebook = this.tracker.currentWidget;
    if (notebook === this._notebook && notebook) {
      return;
    }
    this._notebook?.sessionContext.kernelChanged.disconnect(this._onKernel, this);
    this._notebook = notebook;
    notebook?.sessionContext.kernelChanged.connect(this._onKernel, this);
    this._onKernel();
  }

  private _onKernel(): void {
    const kernel = this._notebook?.sessionContext.session?.kernel ?? null;
    this._link?.changed.disconnect(this._emit, this);
    this._link = kernel ? this._linkTo(kernel) : null;
    this._link?.changed.connect(this._emit, this);
    this._lookIfWatched();
    this._emit();
  }

  private _linkTo(kernel: Kernel.IKernelConnection): KernelLink {
    let link = this._links.get(kernel);
    if (!link) {
      link = new KernelLink(kernel);
      this._links.set(kernel, link);
    }
    return link;
  }

  private _lookIfWatched(): void {
    if (this._isWatched && this._link?.phase === "unknown") {
      void this._link.look();
    }
  }

  private _emit(): void {
    this._changed.emit();
  }

  private _notebook: NotebookPanel | null = null;
  private _link: KernelLink | null = null;
  private _links = new WeakMap<Kernel.IKernelConnection, KernelLink>();
  private _isWatched = false;
  private _changed = new Signal<this, void>(this);
}
