export const x: number = 1; export async function f() { return 1 } f();
