/** Runs tasks one after the other, in the order in which they came. */
export class SerialQueue {
  private last: Promise<unknown> = Promise.resolve();

  /** Run a task when all earlier ones are over, however they ended. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.last.then(task);
    this.last = result.catch(() => undefined);
    return result;
  }
}
